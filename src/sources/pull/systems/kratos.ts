/**
 * Ory Kratos: the list of identities of its admin API, with password hashes.
 *
 * https://www.ory.sh/docs/kratos/reference/api (GET /admin/identities: page_size, page_token, include_credential)
 */
import type { Fields } from '../../source.ts';
import { nextLink, openHttp } from '../http.ts';
import { baseUrl, numberOption, PullError, type PullSystem, requiredOption, secretOf } from '../system.ts';

/** Credentials that the source reads. */
const CREDENTIALS = ['password', 'oidc', 'totp', 'code', 'webauthn', 'passkey', 'lookup_secret'];

export const kratos: PullSystem = {
  name: 'kratos',
  title: 'Ory Kratos',
  describe: 'the admin API of Ory Kratos or Ory Network, with password hashes',
  source: 'kratos',
  options: {
    host: { describe: 'address of the admin API: https://kratos.internal:4434', required: true },
    'page-size': { describe: 'identities in a page', default: '250' },
  },
  secrets: [{ name: 'token', env: 'PULL_TOKEN', prompt: 'API key (Ory Network only)', optional: true }],
  tellsChanges: false,
  continues: true,
  async open(settings) {
    const base = baseUrl('host', requiredOption(settings, 'host'));
    const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 1000]);
    const http = openHttp({ ...settings, title: 'Kratos' });
    const token = secretOf(settings, 'token');
    const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
    return {
      identity: base,
      async *pages({ cursor }) {
        const query = new URLSearchParams({ page_size: String(size) });
        for (const credential of CREDENTIALS) query.append('include_credential', credential);
        if (cursor !== undefined) query.set('page_token', cursor);
        for (;;) {
          const { body, headers: answer } = await http.json<Fields[]>(`${base}/admin/identities?${query}`, { headers });
          if (!Array.isArray(body)) throw new PullError('failed', 'Kratos did not answer with a list of identities.');
          const next = nextLink(answer, base)?.searchParams.get('page_token') ?? undefined;
          if (body.length > 0) yield { records: body, cursor: next ?? query.get('page_token') ?? '' };
          if (next === undefined || body.length === 0) return;
          query.set('page_token', next);
        }
      },
      close: async () => {},
    };
  },
};
