/**
 * Creates an organization, its first user, their membership and the mail that verifies their address, all or nothing.
 */
import { Router } from 'express';
import { generatedDomain } from '../contract/domain-name.ts';
import { type OrgSetUp, orgOperations } from '../contract/organizations.ts';
import { instance, serve } from '../contract/serve.ts';
import { enqueueMail } from '../messages/mail/outbox.ts';
import type { Hasher } from '../passwords/hasher.ts';
import type { Config } from '../platform/config.ts';
import { type AppendedEvent, newDetails } from '../platform/db/events.ts';
import { type Pool, transaction } from '../platform/db/pool.ts';
import { displayNameOf, GENDERS } from '../platform/fields.ts';
import { newId } from '../platform/ids.ts';
import { addMember } from './members.ts';
import { insertOrg } from './organizations.ts';
import { requireGoodPassword } from './policies.ts';
import { insertUser, type NewUser } from './users/store.ts';

export interface SetUpDeps {
  pool: Pool;
  config: Pick<Config, 'baseUrl' | 'CODE_TTL_MS'>;
  hasher: Hasher;
}

/** The route that sets up an organization. */
export function setUpRoutes(deps: SetUpDeps): Router {
  const router = Router();
  serve(router, orgOperations.setUpOrg, instance, async ({ caller, body }) => {
    const { orgId, userId, event } = await setUpOrg(deps, body, caller.userId);
    return { details: newDetails(event, orgId), orgId, userId };
  });
  return router;
}

/**
 * Creates all of it.
 * @throws ApiError 400 PASSWORD-POLICY, 409 when the id or the domain of the organization is taken
 */
export async function setUpOrg(
  deps: SetUpDeps,
  { org, human, roles }: OrgSetUp,
  editor: string,
): Promise<{ orgId: string; userId: string; event: AppendedEvent }> {
  await requireGoodPassword(deps.pool, passwordUser(deps, org, human), human.password, 'human.password');
  const orgId = org.orgId ?? newId();
  const user = firstUser(orgId, human, await deps.hasher.hash(human.password));
  const userId = user.id;
  const event = await transaction(deps.pool, async (db) => {
    const added = await insertOrg(db, { ...org, id: orgId }, deps.config.baseUrl, editor);
    await insertUser(db, user, editor);
    const memberRoles = roles?.length ? roles : ['ORG_OWNER'];
    await addMember(db, { kind: 'organization', orgId }, { userId, roles: memberRoles }, editor);
    if (!human.email.isEmailVerified) {
      await enqueueMail(db, { kind: 'verify_email', userId, codeTtlMs: deps.config.CODE_TTL_MS });
    }
    return added;
  });
  return { orgId, userId, event };
}

function passwordUser({ config }: SetUpDeps, org: OrgSetUp['org'], { userName, email }: OrgSetUp['human']) {
  const domain = org.domain || generatedDomain(org.name, config.baseUrl);
  return { orgId: null, userName, domain, email: email.email };
}

function firstUser(
  orgId: string,
  { userName, profile, email, phone }: OrgSetUp['human'],
  passwordHash: string,
): NewUser {
  return {
    id: newId(),
    orgId,
    userName,
    human: {
      givenName: profile.firstName,
      familyName: profile.lastName,
      nickName: profile.nickName,
      displayName: profile.displayName || displayNameOf(profile.firstName, profile.lastName),
      preferredLanguage: profile.preferredLanguage,
      gender: GENDERS.indexOf(profile.gender),
      email: email.email,
      emailVerified: email.isEmailVerified,
      phone: phone?.phone,
      phoneVerified: phone?.isPhoneVerified,
      passwordHash,
    },
  };
}
