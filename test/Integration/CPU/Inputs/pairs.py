"""Assignments of options that cover all pairs of values, by sampling: where many
rules link few options, this ends where a search may not."""

import itertools

import numpy as np


def _sample(domains, start, legal, random):
    """A legal assignment that extends `start`, options in order, or None."""
    case = dict(start)
    for name, values in domains.items():
        if name in case:
            continue
        choices = [v for v in values if legal({**case, name: v})]
        if not choices:
            return None
        case[name] = choices[random.integers(len(choices))]
    return {name: case[name] for name in domains}


def all_pairs(domains, legal, seed=0, candidates=6):
    """`legal` judges partial assignments; options that are missing suit. List
    options with many rules first."""
    random = np.random.default_rng(seed)

    def pairs_of(case):
        return set(itertools.combinations(case.items(), 2))

    pending = [pair for a, b in itertools.combinations(domains, 2)
               for pair in itertools.product([(a, x) for x in domains[a]],
                                             [(b, y) for y in domains[b]])
               if legal(dict(pair))]
    covered, cases = set(), []
    for index in random.permutation(len(pending)):
        pair = pending[index]
        if pair in covered:
            continue
        found = [_sample(domains, dict(pair), legal, random)
                 for _ in range(candidates)]
        found = [case for case in found if case]
        if not found:  # legal as a pair, but with no third option
            continue
        best = max(found, key=lambda case: len(pairs_of(case) - covered))
        covered |= pairs_of(best)
        cases.append(best)
    return cases
