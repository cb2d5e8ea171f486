/**
 * Ory Kratos and Ory Network: identities as the admin API lists them, in pages or one per line.
 *
 * https://www.ory.com/docs/kratos/manage-identities/overview
 * https://www.ory.com/docs/kratos/reference/api#tag/identity/operation/listIdentities
 */

import type { Person } from '../../person.ts';
import type { Fields, Source } from '../../source.ts';
import { isFields, jsonAt, textAt } from '../../values.ts';
import { credentialsOf } from './credentials.ts';
import { namesOf } from './names.ts';
import { profileOf, traitsLeft } from './traits.ts';

export const kratos: Source = {
  name: 'kratos',
  title: 'Ory Kratos',
  formats: ['json', 'ndjson'],
  jsonPaths: [['identities', '*']],
  recognizes: (record) => (typeof record.schema_id === 'string' && isFields(record.traits) ? 1 : 0),
  converter: () => convert,
};

function convert(record: Fields): Person {
  const traits = jsonAt(record, 'traits');
  const { notes, ...credentials } = credentialsOf(record);
  const names = namesOf(record, traits, notes);
  const profile = profileOf(traits);
  const schema = textAt(record, 'schema_id');
  return {
    userId: textAt(record, 'id'),
    ...names,
    ...profile,
    state: textAt(record, 'state') === 'inactive' ? 'inactive' : 'active',
    ...credentials,
    metadata: {
      traits: traitsLeft(traits, [...Object.values(names), ...Object.values(profile)]),
      metadata_public: unlessEmpty(record.metadata_public),
      metadata_admin: unlessEmpty(record.metadata_admin),
      schema_id: schema === 'default' ? undefined : schema,
      external_id: textAt(record, 'external_id'),
      organization_id: textAt(record, 'organization_id'),
    },
    notes,
  };
}

function unlessEmpty(value: unknown): unknown {
  return isFields(value) && Object.keys(value).length === 0 ? undefined : value;
}
