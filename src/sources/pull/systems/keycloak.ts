/**
 * Keycloak's admin API. It returns no password hashes: `keycloak-db` reads them from the database.
 *
 * Pages count from an offset, and users come in the order of their names. A user who is created or deleted meanwhile
 * moves the pages behind, so an interrupted run reads from the beginning, and the next run finds who was missed.
 * https://www.keycloak.org/docs-api/latest/rest-api/index.html (GET /admin/realms/{realm}/users)
 * https://www.keycloak.org/docs/latest/server_development/#admin-rest-api
 */
import type { Fields } from '../../source.ts';
import { clientToken, openHttp } from '../http.ts';
import { baseUrl, numberOption, PullError, type PullSystem, requiredOption, secretOf } from '../system.ts';

export const keycloak: PullSystem = {
  name: 'keycloak',
  title: 'Keycloak (admin API)',
  describe: "Keycloak's admin API; it returns no password hashes",
  source: 'keycloak',
  options: {
    host: { describe: 'address of Keycloak: https://login.example.com, with /auth for old versions', required: true },
    realm: { describe: 'name of the realm', required: true },
    'client-id': { describe: 'client with a service account that has the role view-users', required: true },
    'client-realm': { describe: 'realm of the client (default: --realm)' },
    'page-size': { describe: 'users in a page', default: '500' },
  },
  secrets: [{ name: 'secret', env: 'PULL_CLIENT_SECRET', prompt: 'Client secret of Keycloak' }],
  tellsChanges: false,
  continues: false,
  async open(settings) {
    const base = baseUrl('host', requiredOption(settings, 'host'));
    const realm = requiredOption(settings, 'realm');
    const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 5000]);
    const http = openHttp({ ...settings, title: 'Keycloak' });
    const clientRealm = (settings.options['client-realm'] as string | undefined) || realm;
    const token = clientToken(http, `${base}/realms/${encodeURIComponent(clientRealm)}/protocol/openid-connect/token`, {
      client_id: requiredOption(settings, 'client-id'),
      client_secret: secretOf(settings, 'secret'),
    });
    // A wrong secret is reported before anything is read.
    await token();
    return {
      identity: `${base} realm ${realm}`,
      async *pages() {
        for (let first = 0; ; first += size) {
          const url = `${base}/admin/realms/${encodeURIComponent(realm)}/users?first=${first}&max=${size}&briefRepresentation=false`;
          const headers = { authorization: `Bearer ${await token()}` };
          const { body } = await http.json<Fields[]>(url, { headers });
          if (!Array.isArray(body)) throw new PullError('failed', 'Keycloak did not answer with a list of users.');
          if (body.length > 0) yield { records: body, cursor: String(first + body.length) };
          if (body.length < size) return;
        }
      },
      close: async () => {},
    };
  },
};
