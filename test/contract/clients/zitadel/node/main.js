/**
 * Calls the service by ZITADEL's published client. Arguments: address, token, id of a provider. Prints as JSON each call
 * that failed and each name that is not the published one.
 *
 * The services of version 2 are called as the client does it, over Connect; all services are called by the method and
 * path that ZITADEL publishes for each call (`google.api.http`), as its own gateway does it.
 */
import { create, fromJson, getOption, toJson } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { createAdminServiceClient, createAuthServiceClient, createManagementServiceClient } from '@zitadel/client/v1';
import {
  createOrganizationServiceClient,
  createSessionServiceClient,
  createUserServiceClient,
} from '@zitadel/client/v2';
import { http } from '@zitadel/proto/google/api/annotations_pb.js';
import { AdminService } from '@zitadel/proto/zitadel/admin_pb.js';
import { AuthService } from '@zitadel/proto/zitadel/auth_pb.js';
import { ManagementService } from '@zitadel/proto/zitadel/management_pb.js';
import { ErrorDetailSchema } from '@zitadel/proto/zitadel/message_pb.js';
import { OrganizationService } from '@zitadel/proto/zitadel/org/v2/org_service_pb.js';
import { SessionService } from '@zitadel/proto/zitadel/session/v2/session_service_pb.js';
import { UserService } from '@zitadel/proto/zitadel/user/v2/user_service_pb.js';
import { callIntents, callProviders } from './providers.js';
import { expect, failed, refused, step } from './steps.js';

const [, , baseUrl, token] = process.argv;
const authorization = `Bearer ${token}`;
const SERVICES = [UserService, SessionService, OrganizationService, ManagementService, AdminService, AuthService];
const OWNER = {
  profile: { firstName: 'Ann', lastName: 'Owner' },
  email: { email: 'owner@names.example', isEmailVerified: true },
};
/** Where version 1 is below the paths that it publishes. */
const BELOW = {
  'zitadel.management.v1': '/management/v1',
  'zitadel.admin.v1': '/admin/v1',
  'zitadel.auth.v1': '/auth/v1',
};

const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

/** The method and path that ZITADEL publishes for a call. */
function published(method) {
  const { pattern } = getOption(method, http);
  const { case: verb = '', value = '' } = pattern;
  return { verb: verb.toUpperCase(), path: (BELOW[method.parent.file.proto.package] ?? '') + value };
}

const called = new Set();
/** A transport by the published methods and paths. */
const gateway = {
  async unary(method, _signal, _timeoutMs, header, input) {
    const { verb, path } = published(method);
    called.add(`${verb} ${path}`);
    const { ...body } = toJson(method.input, create(method.input, input));
    const filled = path.replace(/\{(\w+)\}/g, (_, name) => {
      const { [camel(name)]: value } = body;
      delete body[camel(name)];
      return encodeURIComponent(value);
    });
    const isBare = verb === 'GET' || Object.keys(body).length === 0;
    const response = await fetch(baseUrl + filled, {
      method: verb,
      headers: { authorization, 'content-type': 'application/json', ...Object.fromEntries(new Headers(header)) },
      ...(isBare ? {} : { body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    if (!response.ok) throw new ConnectError(answer.message, answer.code);
    const message = fromJson(method.output, answer, { ignoreUnknownFields: true });
    return { stream: false, service: method.parent, method, header: response.headers, message, trailer: new Headers() };
  },
};
const connect = createConnectTransport({
  baseUrl,
  interceptors: [
    (next) => (request) => {
      if (!request.header.get('authorization')) request.header.set('authorization', authorization);
      return next(request);
    },
  ],
});

/** Every call that ZITADEL publishes, by its name and by its method and path. */
function publishedCalls() {
  const found = {};
  for (const service of SERVICES) {
    for (const method of service.methods) {
      const { verb, path } = published(method);
      found[`${service.typeName}/${method.name}`] = verb && `${verb} ${path}`;
    }
  }
  return found;
}

/** The services of version 2. */
async function callV2(transport, how) {
  const users = createUserServiceClient(transport);
  const sessions = createSessionServiceClient(transport);
  const orgs = createOrganizationServiceClient(transport);
  const on = (name, call) => step(`${how} ${name}`, call);
  const name = `ann-${how}`;
  const [password, next] = ['correct horse battery', 'staple correct horse'];

  const { result: found = [] } = await on('ListOrganizations', () =>
    orgs.listOrganizations({
      query: { limit: 10, offset: 0n },
      queries: [{ query: { case: 'nameQuery', value: { name: 'Names' } } }],
    }),
  );
  const orgId = found[0]?.id ?? '';
  expect(`${how} org`, found[0]?.name === 'Names' && found[0]?.primaryDomain);
  const made = await on('AddHumanUser', () =>
    users.addHumanUser({
      username: name,
      organization: { org: { case: 'orgId', value: orgId } },
      profile: { givenName: 'Ann', familyName: 'Arbor', gender: 1 },
      email: { email: `${name}@names.example`, verification: { case: 'returnCode', value: {} } },
      phone: { phone: '+41791112233', verification: { case: 'returnCode', value: {} } },
      metadata: [{ key: 'shoe', value: new TextEncoder().encode('42') }],
      passwordType: { case: 'password', value: { password, changeRequired: false } },
    }),
  );
  const { userId } = made;
  expect(
    `${how} made`,
    userId && made.details?.resourceOwner === orgId && made.details?.sequence > 0n && made.details?.changeDate,
  );
  await on('VerifyEmail', () => users.verifyEmail({ userId, verificationCode: made.emailCode }));
  await on('VerifyPhone', () => users.verifyPhone({ userId, verificationCode: made.phoneCode }));
  const changed = await on('SetEmail', () =>
    users.setEmail({ userId, email: `${name}@new.example`, verification: { case: 'returnCode', value: {} } }),
  );
  expect(`${how} code`, changed.verificationCode);
  const again = await on('ResendEmailCode', () =>
    users.resendEmailCode({ userId, verification: { case: 'returnCode', value: {} } }),
  );
  await on('VerifyEmail again', () => users.verifyEmail({ userId, verificationCode: again.verificationCode }));
  await on('SetPhone', () =>
    users.setPhone({ userId, phone: '+41791112244', verification: { case: 'returnCode', value: {} } }),
  );
  const code = await on('ResendPhoneCode', () =>
    users.resendPhoneCode({ userId, verification: { case: 'returnCode', value: {} } }),
  );
  await on('VerifyPhone again', () => users.verifyPhone({ userId, verificationCode: code.verificationCode }));
  await on('AddOTPSMS', () => users.addOTPSMS({ userId }));
  await on('AddOTPEmail', () => users.addOTPEmail({ userId }));
  const factors = await on('ListAuthenticationFactors', () => users.listAuthenticationFactors({ userId }));
  expect(`${how} sent codes`, factors.result?.length === 2);
  await on('RemoveOTPSMS', () => users.removeOTPSMS({ userId }));
  await on('RemoveOTPEmail', () => users.removeOTPEmail({ userId }));
  await on('RemovePhone', () => users.removePhone({ userId }));
  await on('UpdateHumanUser', () =>
    users.updateHumanUser({ userId, profile: { givenName: 'Anna', familyName: 'Arbor' } }),
  );
  const { user, details } = await on('GetUserByID', () => users.getUserByID({ userId }));
  const human = user?.type?.value;
  expect(
    `${how} user`,
    user?.state === 1 && user?.username === name && user?.preferredLoginName && details?.sequence > 0n,
  );
  expect(
    `${how} human`,
    user?.type?.case === 'human' && human?.profile?.givenName === 'Anna' && human?.email?.isVerified,
  );
  const listed = await on('ListUsers', () =>
    users.listUsers({
      query: { offset: 0n, limit: 10, asc: true },
      queries: [
        { query: { case: 'userNameQuery', value: { userName: name, method: 0 } } },
        { query: { case: 'stateQuery', value: { state: 1 } } },
        { query: { case: 'organizationIdQuery', value: { organizationId: orgId } } },
        { query: { case: 'emailQuery', value: { emailAddress: `${name}@new.example` } } },
        { query: { case: 'inUserIdsQuery', value: { userIds: [userId] } } },
      ],
    }),
  );
  expect(`${how} list`, listed.details?.totalResult === 1n && listed.result?.[0]?.userId === userId);

  await on('SetPassword', () => users.setPassword({ userId, newPassword: { password: next } }));
  const reset = await on('PasswordReset', () =>
    users.passwordReset({ userId, medium: { case: 'returnCode', value: {} } }),
  );
  await on('SetPassword by code', () =>
    users.setPassword({
      userId,
      newPassword: { password },
      verification: { case: 'verificationCode', value: reset.verificationCode },
    }),
  );
  const session = await on('CreateSession', () =>
    sessions.createSession({
      checks: { user: { search: { case: 'loginName', value: user?.preferredLoginName } }, password: { password } },
    }),
  );
  expect(`${how} session`, session.sessionId && session.sessionToken);
  const { sessionId, sessionToken } = session;
  const { session: shown } = await on('GetSession', () => sessions.getSession({ sessionId, sessionToken }));
  expect(
    `${how} factors`,
    shown?.id === sessionId && shown?.factors?.user?.id === userId && shown?.factors?.password?.verifiedAt,
  );
  await on('DeleteSession', () => sessions.deleteSession({ sessionId, sessionToken }));

  // Who has no password signs in with a code by email.
  const { userId: coded } = await on('AddHumanUser without a password', () =>
    users.addHumanUser({
      username: `coded-${how}`,
      organization: { org: { case: 'orgId', value: orgId } },
      profile: { givenName: 'Cora', familyName: 'Dent' },
      email: { email: `coded-${how}@names.example`, verification: { case: 'isVerified', value: true } },
    }),
  );
  const waiting = await on('CreateSession for a code', () =>
    sessions.createSession({
      checks: { user: { search: { case: 'userId', value: coded } } },
      challenges: { otpEmail: { deliveryType: { case: 'returnCode', value: {} } } },
    }),
  );
  const signedIn = await on('SetSession', () =>
    sessions.setSession({
      sessionId: waiting.sessionId,
      sessionToken: waiting.sessionToken,
      checks: { otpEmail: { code: waiting.challenges?.otpEmail } },
    }),
  );
  expect(`${how} code`, signedIn.sessionToken);

  await callIntents(users, sessions, { how, orgId, userId: coded });

  const totp = await on('RegisterTOTP', () => users.registerTOTP({ userId }));
  expect(`${how} totp`, totp.secret && totp.uri?.startsWith('otpauth://'));
  await refused(`${how} VerifyTOTPRegistration`, Code.InvalidArgument, () =>
    users.verifyTOTPRegistration({ userId, code: '000000' }),
  );
  await on('RemoveTOTP', () => users.removeTOTP({ userId }));
  await on('DeactivateUser', () => users.deactivateUser({ userId }));
  await on('ReactivateUser', () => users.reactivateUser({ userId }));
  await on('LockUser', () => users.lockUser({ userId }));
  await on('UnlockUser', () => users.unlockUser({ userId }));
  await on('DeleteUser', () => users.deleteUser({ userId }));
  // The service has no domain name, where no browser has passkeys; and only people themselves add one.
  await refused(`${how} RegisterPasskey`, Code.PermissionDenied, () => users.registerPasskey({ userId: coded }));
  await refused(`${how} VerifyPasskeyRegistration`, Code.PermissionDenied, () =>
    users.verifyPasskeyRegistration({
      userId: coded,
      passkeyId: 'none',
      passkeyName: 'phone',
      publicKeyCredential: { id: 'none' },
    }),
  );
  await refused(`${how} CreatePasskeyRegistrationLink`, Code.FailedPrecondition, () =>
    users.createPasskeyRegistrationLink({ userId: coded, medium: { case: 'sendLink', value: {} } }),
  );
  const passkeys = await on('ListPasskeys', () => users.listPasskeys({ userId: coded }));
  expect(`${how} passkeys`, passkeys.result?.length === 0);
  await refused(`${how} RemovePasskey`, Code.NotFound, () => users.removePasskey({ userId: coded, passkeyId: 'none' }));
  const missing = await refused(`${how} GetUserByID of nobody`, Code.NotFound, () => users.getUserByID({ userId }));
  if (how === 'connect')
    expect('the id of the error', missing?.findDetails(ErrorDetailSchema)[0]?.id === 'USER-NOT-FOUND');
  await refused(`${how} AddHumanUser of nothing`, Code.InvalidArgument, () => users.addHumanUser({ username: 'x' }));
  await refused(`${how} without a token`, Code.Unauthenticated, () =>
    users.getUserByID({ userId }, { headers: { authorization: 'Bearer none' } }),
  );
}

/** The services of version 1. */
async function callV1(own) {
  const management = createManagementServiceClient(gateway);
  const auth = createAuthServiceClient(gateway);
  const inOrg = { headers: { 'x-zitadel-orgid': own } };
  const person = {
    profile: { firstName: 'Ann', lastName: 'Arbor' },
    email: { email: 'ann@v1.example', isEmailVerified: true },
  };

  expect('GetOrgByID', (await step('GetOrgByID', () => admin.getOrgByID({ id: own }))).org?.name === 'Names');
  const { result: orgs } = await step('ListOrgs', () =>
    admin.listOrgs({ query: { limit: 10 }, queries: [{ query: { case: 'nameQuery', value: { name: 'Names' } } }] }),
  );
  expect('ListOrgs', orgs?.[0]?.id === own && orgs[0].primaryDomain);
  const { id: other } = await step('AddOrg', () => management.addOrg({ name: 'Other' }));
  const inOther = { headers: { 'x-zitadel-orgid': other } };
  expect('GetMyOrg', (await step('GetMyOrg', () => management.getMyOrg({}, inOther))).org?.id === other);
  await step('DeactivateOrg', () => management.deactivateOrg({}, inOther));
  await step('ReactivateOrg', () => management.reactivateOrg({}, inOther));
  await step('RemoveOrg', () => management.removeOrg({}, inOther));

  const { userId } = await step('AddMachineUser', () =>
    management.addMachineUser({ userName: 'robot', name: 'Robot', accessTokenType: 1 }, inOrg),
  );
  const pat = await step('AddPersonalAccessToken', () => management.addPersonalAccessToken({ userId }, inOrg));
  expect('pat', pat.tokenId && pat.token);
  await step('RemovePersonalAccessToken', () =>
    management.removePersonalAccessToken({ userId, tokenId: pat.tokenId }, inOrg),
  );
  const key = await step('AddMachineKey', () => management.addMachineKey({ userId, type: 1 }, inOrg));
  const { type } = JSON.parse(new TextDecoder().decode(key.keyDetails ?? new TextEncoder().encode('{}')));
  expect('key', key.keyId && type === 'serviceaccount');
  await step('RemoveMachineKey', () => management.removeMachineKey({ userId, keyId: key.keyId }, inOrg));
  const secret = await step('GenerateMachineSecret', () => management.generateMachineSecret({ userId }, inOrg));
  expect('secret', secret.clientId && secret.clientSecret);
  await step('RemoveMachineSecret', () => management.removeMachineSecret({ userId }, inOrg));

  const moved = await step('ImportHumanUser', () =>
    management.importHumanUser(
      { userName: 'moved', ...person, password: 'correct horse battery', passwordChangeRequired: true },
      inOrg,
    ),
  );
  const { result: users } = await step('ListUsers', () =>
    management.listUsers(
      { query: { limit: 10 }, queries: [{ query: { case: 'userNameQuery', value: { userName: 'moved' } } }] },
      inOrg,
    ),
  );
  expect('ListUsers', moved.userId && users?.[0]?.id === moved.userId && users[0].type.case === 'human');
  const orgs1 = [{ orgId: own, humanUsers: [{ userId: 'bulk', user: { userName: 'bulk', ...person } }] }];
  await step('ImportData', () =>
    admin.importData({ timeout: '1m', data: { case: 'dataOrgs', value: { orgs: orgs1 } } }),
  );

  await step('AddOrgMember', () => management.addOrgMember({ userId, roles: ['ORG_OWNER'] }, inOrg));
  const { result: members } = await step('ListOrgMembers', () =>
    management.listOrgMembers({ query: { limit: 10 } }, inOrg),
  );
  expect(
    'ListOrgMembers',
    members?.some((member) => member.userId === userId && member.roles[0] === 'ORG_OWNER'),
  );
  await step('RemoveOrgMember', () => management.removeOrgMember({ userId }, inOrg));
  await step('AddIAMMember', () => admin.addIAMMember({ userId, roles: ['IAM_OWNER'] }));
  const { result: above } = await step('ListIAMMembers', () => admin.listIAMMembers({}));
  expect(
    'ListIAMMembers',
    above?.some((member) => member.userId === userId),
  );
  await step('RemoveIAMMember', () => admin.removeIAMMember({ userId }));

  await callProviders(management, admin, own);
  await callPolicies(management, inOrg);
  const { events } = await step('ListEvents', () => admin.listEvents({ limit: 10 }));
  expect('ListEvents', events?.length >= 0);
  expect('GetMyUser', (await step('GetMyUser', () => auth.getMyUser({}))).user?.id);
}

async function callPolicies(management, inOrg) {
  const age = { maxAgeDays: 90, expireWarnDays: 14 };
  await step('AddCustomPasswordAgePolicy', () => management.addCustomPasswordAgePolicy(age, inOrg));
  const got = await step('GetPasswordAgePolicy', () => management.getPasswordAgePolicy({}, inOrg));
  expect('GetPasswordAgePolicy', got.policy?.maxAgeDays === 90n && got.isDefault === false);
  await step('UpdateCustomPasswordAgePolicy', () =>
    management.updateCustomPasswordAgePolicy({ ...age, maxAgeDays: 91 }, inOrg),
  );
  await step('ResetPasswordAgePolicyToDefault', () => management.resetPasswordAgePolicyToDefault({}, inOrg));
  await step('GetDefaultPasswordAgePolicy', () => management.getDefaultPasswordAgePolicy({}, inOrg));
  await step('admin GetPasswordAgePolicy', () => admin.getPasswordAgePolicy({}));
  await step('admin UpdatePasswordAgePolicy', () =>
    admin.updatePasswordAgePolicy({ maxAgeDays: 365, expireWarnDays: 7 }),
  );

  const complexity = { minLength: 9n };
  await step('AddCustomPasswordComplexityPolicy', () =>
    management.addCustomPasswordComplexityPolicy(complexity, inOrg),
  );
  const rules = await step('GetPasswordComplexityPolicy', () => management.getPasswordComplexityPolicy({}, inOrg));
  expect('GetPasswordComplexityPolicy', rules.policy?.minLength === 9n);
  await step('UpdateCustomPasswordComplexityPolicy', () =>
    management.updateCustomPasswordComplexityPolicy(complexity, inOrg),
  );
  await step('ResetPasswordComplexityPolicyToDefault', () =>
    management.resetPasswordComplexityPolicyToDefault({}, inOrg),
  );
  await step('GetDefaultPasswordComplexityPolicy', () => management.getDefaultPasswordComplexityPolicy({}, inOrg));
  await step('admin GetPasswordComplexityPolicy', () => admin.getPasswordComplexityPolicy({}));
  await step('admin UpdatePasswordComplexityPolicy', () => admin.updatePasswordComplexityPolicy({ minLength: 8 }));

  await step('AddCustomLoginPolicy', () => management.addCustomLoginPolicy({ forceMfa: true }, inOrg));
  expect('GetLoginPolicy', (await step('GetLoginPolicy', () => management.getLoginPolicy({}, inOrg))).policy?.forceMfa);
  await step('UpdateCustomLoginPolicy', () => management.updateCustomLoginPolicy({ forceMfa: true }, inOrg));
  await step('ResetLoginPolicyToDefault', () => management.resetLoginPolicyToDefault({}, inOrg));
  await step('GetDefaultLoginPolicy', () => management.getDefaultLoginPolicy({}, inOrg));
  await step('admin GetLoginPolicy', () => admin.getLoginPolicy({}));
  await step('admin UpdateLoginPolicy', () => admin.updateLoginPolicy({ forceMfa: true }));
}

const admin = createAdminServiceClient(gateway);
const { orgId: own } = await step('SetUpOrg', () =>
  admin.setUpOrg({
    org: { name: 'Names' },
    user: { case: 'human', value: { userName: 'owner', ...OWNER, password: 'correct horse battery' } },
  }),
);
await callV2(connect, 'connect');
await callV2(gateway, 'gateway');
await callV1(own);
console.log(JSON.stringify({ failed, published: publishedCalls(), called: [...called].sort() }, null, 1));
