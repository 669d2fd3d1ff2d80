#include "model/bank_room.hpp"

#include <algorithm>

namespace weir {

BankRoom::BankRoom(const PlacementConditions& conditions)
    : conditions_{&conditions},
      banks_{std::max<std::size_t>(1, conditions.machine->banks.size())},
      left_(static_cast<std::size_t>(conditions.nodes()) * banks_, unlimited) {
  const std::vector<Bank>& banks = conditions.machine->banks;
  // Where data has to stay, what is needed depends on the domain, and only the bank itself is judged here.
  fitting_ = banks.empty() ? std::vector<int>{0} : conditions.fitting_banks(0);
  if (!banks.empty())
    std::ranges::stable_sort(fitting_, std::ranges::greater{}, [&](int b) {
      const Bank& bank = banks[static_cast<std::size_t>(b)];
      return std::min(bank.read.value, bank.write.value);
    });
  for (std::size_t b = 0; b < banks.size(); ++b)
    if (banks[b].capacity.known())
      for (std::size_t at = b; at < left_.size(); at += banks_) left_[at] = banks[b].capacity.value;
}

bool BankRoom::has_room(Place place, double domain_bytes) const {
  return left(place) >= conditions_->needed(domain_bytes);
}

int BankRoom::best(int node, double domain_bytes) const {
  for (const int bank : fitting_)
    if (has_room({node, bank}, domain_bytes)) return bank;
  return -1;
}

}  // namespace weir
