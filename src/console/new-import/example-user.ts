/** One user as it would come in, and what single values would become, by the converter that reads the whole file. */

import type { Person } from '../../sources/person.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { Convert, Fields } from '../../sources/source.ts';
import type { Column } from './shapes.ts';

export interface ExampleUser {
  name: string;
  email: string;
  state: string;
  login: string;
}

/** Fields whose values decide the state of a user. */
const OF_STATE = new Set(['state', 'enabled', 'disabled', 'locked']);

function converterOf(source: string, map: Readonly<Record<string, string>>): Convert | undefined {
  return SOURCES.find(({ name }) => name === source)?.converter({ map });
}

function personOf(convert: Convert | undefined, record: Fields): Person | undefined {
  const found = convert?.(record);
  return found && !('skip' in found) ? found : undefined;
}

/** Made of the first value of each column; undefined when no user can be made of them. */
export function exampleUser(
  source: string,
  mapping: Readonly<Record<string, string>>,
  columns: readonly Column[],
): ExampleUser | undefined {
  const values = columns
    .map(({ name, samples }) => [name, samples[0]?.text])
    .filter(([, value]) => value !== undefined);
  const person = personOf(converterOf(source, mapping), Object.fromEntries(values));
  if (!person) return undefined;
  const { email = '', userName, displayName, firstName = '', lastName = '', state = 'active' } = person;
  const login = userName ?? email;
  return { name: displayName ?? `${firstName} ${lastName}`.trim(), email, state, login };
}

/** `ja → active` for the examples of a column that decides the state. */
export function statesOf(source: string, field: string, { name, samples }: Column): string[] {
  if (!OF_STATE.has(field)) return [];
  const convert = converterOf(source, { [field]: name });
  return samples
    .map(({ text }) => text)
    .filter((text) => text !== undefined)
    .map((text) => `${text} → ${personOf(convert, { [name]: text })?.state ?? 'active'}`);
}
