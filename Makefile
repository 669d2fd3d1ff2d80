.PHONY: setup build demo test experiments install clean

setup:
	@sh packaging/setup.sh

build: setup
	@cmake --preset release
	@cmake --build --preset release

demo: build
	@sh examples/demo.sh

test: setup
	@sh tests/run.sh

experiments: build
	@sh sim/papers.sh build/bin/weir docs

install: build
	@cmake --install build

clean:
	@rm -rf build
