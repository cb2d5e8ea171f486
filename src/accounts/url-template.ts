/** Which URL templates a link in an email may use. */
import type { Config } from '../config.ts';
import type { Db } from '../db/pool.ts';
import { badFields } from '../http/parse-body.ts';
import { templateOrigin } from '../mail/links.ts';
import { isAllowedOrigin } from '../orgs/allowed-urls.ts';

/**
 * Call it for managers; users may not choose where a link leads (`requireVouching`).
 * @param field its path in the body
 * @throws ApiError 400 URL-TEMPLATE-NOT-ALLOWED
 */
export async function requireAllowedTemplate(
  { pool, config }: { pool: Db; config: Pick<Config, 'baseUrl'> },
  orgId: string,
  field: string,
  template: string | undefined,
): Promise<void> {
  if (template === undefined) return;
  const origin = templateOrigin(template);
  if (origin !== undefined && (await isAllowedOrigin(pool, orgId, origin, config.baseUrl))) return;
  const description =
    'must begin with a URL that the organization allows; an ORG_OWNER sets these with ' +
    'PUT /management/v1/orgs/me/allowed_urls';
  throw badFields('URL-TEMPLATE-NOT-ALLOWED', [{ field, description }]);
}
