/**
 * The permissions, written by hand from the documents: not read from the code that they are compared with.
 *
 * A row is an operation, the status for a permitted caller, and the result of each caller on each of four targets.
 * Callers: I an IAM_OWNER; O, M, V a user of the own organization with the role ORG_OWNER, ORG_USER_MANAGER or
 * ORG_OWNER_VIEWER on it; o, m, v a user of the own organization with that role only on the other one; u a user of the
 * own organization without any role; - nobody: no token.
 * Targets: the own organization or a resource of it; the other one or a resource of it; a resource that does not exist;
 * and, only for u, the user themselves.
 * Cells: . permitted (the row's status); 0 400; 1 401; 3 403; 4 404. A target that an operation cannot have is _.
 */
export const CALLERS = 'IOMVomvu-';

const TABLE = `
                                                          may  own       other     missing   self
                                                               IOMVomvu- IOMVomvu- IOMVomvu- u

POST   /admin/v1/orgs/_setup                              200  .33333331 _         _         _
POST   /management/v1/orgs                                200  .33333331 _         _         _
GET    /admin/v1/orgs/:orgId                              200  .33333331 .33333331 433333331 _
POST   /admin/v1/orgs/_search                             200  .33333331 _         _         _
POST   /management/v1/orgs/me/_deactivate                 200  .33333331 .33333331 433333331 _
POST   /management/v1/orgs/me/_reactivate                 200  .33333331 .33333331 433333331 _
GET    /management/v1/orgs/me/removal_preview             200  .33333331 .33333331 433333331 _
DELETE /management/v1/orgs/me                             200  .33333331 .33333331 433333331 _
POST   /management/v1/orgs/me/_undelete                   200  .33333331 .33333331 433333331 _
GET    /management/v1/orgs/me/limits                      200  ..3333331 .333.3331 433333331 _
PUT    /management/v1/orgs/me/limits                      200  .33333331 .33333331 433333331 _
GET    /management/v1/orgs/me                             200  ....33331 .333...31 433333331 _
GET    /management/v1/orgs/me/allowed_urls                200  ....33331 .333...31 433333331 _
PUT    /management/v1/orgs/me/allowed_urls                200  ..3333331 .333.3331 433333331 _
GET    /management/v1/orgs/me/sign_in_names               200  ....33331 .333...31 433333331 _
PUT    /management/v1/orgs/me/sign_in_names               200  ..3333331 .333.3331 433333331 _
PUT    /management/v1/orgs/me/webhook_secret              200  ..3333331 .333.3331 433333331 _

GET    /management/v1/me                                  200  ........1 _         _         .
GET    /auth/v1/users/me                                  200  ........1 _         _         .
POST   /v2beta/users/human                                200  ...333331 .333..331 433333331 _
GET    /v2beta/users/:userId                              200  ....33331 .333...31 433333331 .
GET    /v2beta/users/:userId/metadata                     200  ....33331 .333...31 433333331 .
GET    /v2beta/users/:userId/links                        200  ....33331 .333...31 433333331 .
POST   /v2beta/users/:userId/links/_search                200  ....33331 .333...31 433333331 .
POST   /v2beta/users/:userId/links                        200  ...333331 .333..331 433333331 3
DELETE /v2beta/users/:userId/links/:idpId/:linkedUserId   404  ...333331 .333..331 433333331 .
POST   /v2beta/users                                      200  .......31 _         _         _
POST   /management/v1/users/_search                       200  ....33331 .333...31 433333331 _
PUT    /v2beta/users/human/:userId                        200  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/email                        200  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/email/resend                 200  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/email/verify                 400  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/phone                        200  ...333331 .333..331 433333331 .
DELETE /v2beta/users/:userId/phone                        200  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/phone/resend                 200  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/phone/verify                 400  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/password                     200  ...333331 .333..331 433333331 0
POST   /v2beta/users/:userId/password (with a code)       200  ......... ......... 000000000 .
POST   /v2beta/users/:userId/password_reset               200  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/totp                         200  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/totp/verify                  400  ...333331 .333..331 433333331 .
DELETE /v2beta/users/:userId/totp                         200  ...333331 .333..331 433333331 .
DELETE /v2beta/users/:userId/totp/:totpId                 404  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/authentication_factors/_search 200  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/recovery_codes               400  ...333331 .333..331 433333331 .
DELETE /v2beta/users/:userId/recovery_codes               404  ...333331 .333..331 433333331 .
DELETE /v2beta/users/:userId/authentication_factors       200  ...333331 .333..331 433333331 3
POST   /v2beta/users/:userId/passkeys                     400  333333331 333333331 433333331 .
POST   /v2beta/users/:userId/passkeys/:passkeyId          400  333333331 333333331 433333331 .
POST   /v2beta/users/:userId/passkeys/registration_link   400  ...333331 .333..331 433333331 3
POST   /v2beta/users/:userId/passkeys/_search             200  ...333331 .333..331 433333331 .
PUT    /v2beta/users/:userId/passkeys/:passkeyId          404  333333331 333333331 433333331 .
DELETE /v2beta/users/:userId/passkeys/:passkeyId          404  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/otp_sms                      200  ...333331 .333..331 433333331 .
DELETE /v2beta/users/:userId/otp_sms                      200  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/otp_email                    200  ...333331 .333..331 433333331 .
DELETE /v2beta/users/:userId/otp_email                    200  ...333331 .333..331 433333331 .
POST   /v2beta/users/:userId/deactivate                   200  ...333331 .333..331 433333331 3
POST   /v2beta/users/:userId/reactivate                   200  ...333331 .333..331 433333331 3
POST   /v2beta/users/:userId/lock                         200  ...333331 .333..331 433333331 3
POST   /v2beta/users/:userId/unlock                       200  ...333331 .333..331 433333331 3
PUT    /v2beta/users/:userId/mail_codes                   200  ...333331 .333..331 433333331 3
DELETE /v2beta/users/:userId                              200  ...333331 .333..331 433333331 0
GET    /v2beta/users/:userId/data                         200  ..3333331 .333.3331 433333331 .
POST   /v2beta/users/:userId/erase                        200  ..3333331 .333.3331 433333331 3

POST   /v2beta/sessions                                   201  ....00031 .000...31 000000031 3
GET    /v2beta/sessions/:sessionId                        200  ....33331 .333...31 433333331 3
PATCH  /v2beta/sessions/:sessionId                        400  ....33331 .333...31 433333331 3
DELETE /v2beta/sessions/:sessionId                        200  ....33331 .333...31 433333331 3
POST   /v2beta/idp_intents                                400  ....33331 .333...31 433333331 _
POST   /v2beta/idp_intents/:idpIntentId                   404  .......31 .......31 444444431 _
GET    /v2beta/users/:userId/logins                       200  ...333331 .333..331 433333331 .
DELETE /v2beta/users/:userId/logins                       200  ...333331 .333..331 433333331 .
DELETE /v2beta/users/:userId/logins/:loginId              404  ...333331 .333..331 433333331 .

GET    /management/v1/policies/password/age               200  ....33331 .333...31 433333331 _
POST   /management/v1/policies/password/age               400  ..3333331 .333.3331 433333331 _
PUT    /management/v1/policies/password/age               400  ..3333331 .333.3331 433333331 _
DELETE /management/v1/policies/password/age               200  ..3333331 .333.3331 433333331 _
GET    /management/v1/policies/default/password/age       200  ....33331 .333...31 433333331 _
GET    /admin/v1/policies/password/age                    200  .33333331 _         _         _
PUT    /admin/v1/policies/password/age                    400  .33333331 _         _         _
GET    /management/v1/policies/password/complexity        200  ....33331 .333...31 433333331 _
POST   /management/v1/policies/password/complexity        400  ..3333331 .333.3331 433333331 _
PUT    /management/v1/policies/password/complexity        400  ..3333331 .333.3331 433333331 _
DELETE /management/v1/policies/password/complexity        200  ..3333331 .333.3331 433333331 _
GET    /management/v1/policies/default/password/complexity 200  ....33331 .333...31 433333331 _
GET    /admin/v1/policies/password/complexity             200  .33333331 _         _         _
PUT    /admin/v1/policies/password/complexity             400  .33333331 _         _         _
POST   /management/v1/mails/_preview                      200  ....33331 .333...31 433333331 _
POST   /management/v1/mails/_sample                       400  ...333331 .333..331 433333331 _
GET    /management/v1/policies/login                      200  ....33331 .333...31 433333331 _
POST   /management/v1/policies/login                      400  ..3333331 .333.3331 433333331 _
PUT    /management/v1/policies/login                      400  ..3333331 .333.3331 433333331 _
DELETE /management/v1/policies/login                      200  ..3333331 .333.3331 433333331 _
GET    /management/v1/policies/default/login              200  ....33331 .333...31 433333331 _
GET    /admin/v1/policies/login                           200  .33333331 _         _         _
PUT    /admin/v1/policies/login                           400  .33333331 _         _         _
GET    /management/v1/policies/branding                   200  ....33331 .333...31 433333331 _
PUT    /management/v1/policies/branding                   400  ..3333331 .333.3331 433333331 _
DELETE /management/v1/policies/branding                   200  ..3333331 .333.3331 433333331 _
GET    /management/v1/policies/default/branding           200  ....33331 .333...31 433333331 _
GET    /admin/v1/policies/branding                        200  .33333331 _         _         _
PUT    /admin/v1/policies/branding                        400  .33333331 _         _         _

POST   /management/v1/users/human/_import                 400  ..3333331 .333.3331 433333331 _
POST   /admin/v1/import                                   202  ..3333331 .333.3331 433333331 _
POST   /admin/v1/import (of both organizations)           202  .33333331 _         _         _
POST   /admin/v1/imports                                  201  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/files                  201  ..3333331 .333.3331 433333331 _
HEAD   /admin/v1/imports/:importId/files/:fileId          200  ..3333331 .333.3331 433333331 _
PATCH  /admin/v1/imports/:importId/files/:fileId          204  ..3333331 .333.3331 433333331 _
DELETE /admin/v1/imports/:importId/files/:fileId          204  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/guess                  200  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_convert               400  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_check                 400  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/mails_preview          200  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/earlier                200  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_try_password          400  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_start                 400  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_discard               200  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports                                  200  ..33.3331 _         _         _
GET    /admin/v1/imports/:importId                        200  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/items                  200  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/items/:index           200  ..3333331 .333.3331 433333331 _
PATCH  /admin/v1/imports/:importId/items/:index           400  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/causes                 200  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_fix                   400  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/rates                  200  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/sign_ins              200  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/undo_preview           200  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/events                 200  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_cancel                200  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_resume                400  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_retry                 400  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_pause                 400  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/report                 200  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_send_mails            200  ..3333331 .333.3331 433333331 _
GET    /admin/v1/imports/:importId/sign_in_mails_preview  200  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_send_sign_in_mails    200  ..3333331 .333.3331 433333331 _
POST   /admin/v1/imports/:importId/_undo                  200  ..3333331 .333.3331 433333331 _

POST   /management/v1/password_sources                    200  ..3333331 .333.3331 433333331 _
GET    /management/v1/password_sources                    200  ..3333331 .333.3331 433333331 _
GET    /management/v1/password_sources/:sourceId          200  ..3333331 .333.3331 433333331 _
PUT    /management/v1/password_sources/:sourceId          200  ..3333331 .333.3331 433333331 _
GET    /management/v1/password_sources/:sourceId/status   200  ..3333331 .333.3331 433333331 _
POST   /management/v1/password_sources/:sourceId/_test    200  ..3333331 .333.3331 433333331 _
POST   /management/v1/password_sources/:sourceId/_end     200  ..3333331 .333.3331 433333331 _
DELETE /management/v1/password_sources/:sourceId          200  ..3333331 .333.3331 433333331 _

POST   /management/v1/idps                                200  ..3333331 .333.3331 433333331 _
GET    /management/v1/idps                                200  ..3333331 .333.3331 433333331 _
GET    /management/v1/idps/:idpId                         200  ..3333331 .333.3331 433333331 _
GET    /management/v1/idps/:idpId/_check                  200  ..3333331 .333.3331 433333331 _
PATCH  /management/v1/idps/:idpId                         200  ..3333331 .333.3331 433333331 _
DELETE /management/v1/idps/:idpId                         200  ..3333331 .333.3331 433333331 _
POST   /admin/v1/idps                                     200  .33333331 _         _         _
GET    /admin/v1/idps                                     200  .33333331 _         _         _
GET    /admin/v1/idps/:idpId                              200  .33333331 _         433333331 _
GET    /admin/v1/idps/:idpId/_check                       200  .33333331 _         433333331 _
PATCH  /admin/v1/idps/:idpId                              200  .33333331 _         433333331 _
DELETE /admin/v1/idps/:idpId                              200  .33333331 _         433333331 _

POST   /management/v1/users/machine                       200  ..3333331 .333.3331 433333331 _
POST   /management/v1/users/:userId/pats                  200  ..3333331 .333.3331 433333331 3
GET    /management/v1/users/:userId/pats                  200  ..3333331 .333.3331 433333331 3
DELETE /management/v1/users/:userId/pats/:tokenId         200  ..3333331 .333.3331 433333331 3
POST   /management/v1/users/:userId/keys                  400  ..3333331 .333.3331 433333331 3
GET    /management/v1/users/:userId/keys                  200  ..3333331 .333.3331 433333331 3
DELETE /management/v1/users/:userId/keys/:keyId           200  ..3333331 .333.3331 433333331 3
PUT    /management/v1/users/:userId/secret                200  ..3333331 .333.3331 433333331 3
DELETE /management/v1/users/:userId/secret                200  ..3333331 .333.3331 433333331 3

POST   /management/v1/orgs/me/members                     200  ..3333331 .333.3331 433333331 _
POST   /management/v1/orgs/me/members/_search             200  ..3333331 .333.3331 433333331 _
DELETE /management/v1/orgs/me/members/:userId             200  ..3333331 .333.3331 433333331 _
POST   /admin/v1/members                                  200  .33333331 .33333331 433333331 3
POST   /admin/v1/members/_search                          200  .33333331 _         _         _
DELETE /admin/v1/members/:userId                          200  .33333331 .33333331 433333331 3

POST   /admin/v1/clients                                  200  .33333331 _         _         _
GET    /admin/v1/clients                                  200  .33333331 _         _         _
PATCH  /admin/v1/clients/:clientId                        200  .33333331 _         433333331 _
DELETE /admin/v1/clients/:clientId                        200  .33333331 _         433333331 _

POST   /admin/v1/events/_search                           200  ..3333331 .333.3331 .33333331 _
POST   /admin/v1/events/_export                           200  ..3333331 .333.3331 .33333331 _

GET    /admin/v1/diagnostics                              200  .33333331 _         _         _
GET    /admin/v1/workers                                  200  .33333331 _         _         _
`;

export type Target = 'own' | 'other' | 'missing' | 'self';

export interface Row {
  /** `POST /v2beta/users/:userId/password (with a code)` */
  operation: string;
  method: string;
  path: string;
  /** Status for a permitted caller. */
  may: number;
  /** Cells by target, in the order of CALLERS; for `self` only the one of u. */
  cells: Partial<Record<Target, string>>;
}

const ROW = /^(\w+) +(\/\S+)( \(.+?\))? +(\d{3}) +(\S+) +(\S+) +(\S+) +(\S+)$/;

/** @throws Error for a row with a different format */
export function readTable(): Row[] {
  const lines = TABLE.split('\n')
    .slice(3)
    .filter((line) => line !== '');
  return lines.map((line) => {
    const [, method = '', path = '', note = '', may, own, other, missing, self] = ROW.exec(line) ?? [];
    if (!own) throw new Error(`not a row: ${line}`);
    const cells = { own, other, missing, self };
    const given = Object.entries(cells).filter(([, text]) => text !== undefined && text !== '_') as [Target, string][];
    for (const [target, text] of given) {
      if (text.length !== (target === 'self' ? 1 : CALLERS.length)) throw new Error(`${target} of ${line}`);
    }
    return { operation: `${method} ${path}${note}`, method, path, may: Number(may), cells: Object.fromEntries(given) };
  });
}
