.PHONY: setup build demo test install clean

setup:
	@sh packaging/setup.sh

build: setup
	@cmake --preset release
	@cmake --build --preset release

demo: build
	@sh examples/demo.sh

test: setup
	@sh tests/run.sh

install: build
	@cmake --install build

clean:
	@rm -rf build
