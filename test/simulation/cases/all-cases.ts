/** The list of all named cases. */
import { accessCases } from "./accesses.ts";
import { countCases } from "./counts.ts";
import { createCases } from "./creates.ts";
import { guardCases } from "./guards.ts";
import type { NamedCase } from "./named-case.ts";
import { ownerCases } from "./owners.ts";
import { planeCases } from "./planes.ts";
import { stormCases } from "./storms.ts";

/** Every named case. */
export const namedCases: readonly NamedCase[] = [
  ...createCases,
  ...ownerCases,
  ...guardCases,
  ...countCases,
  ...accessCases,
  ...planeCases,
  ...stormCases,
];
