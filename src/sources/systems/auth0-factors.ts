/**
 * Auth0: second factors, recovery codes and passkeys of a user, from the profile, the format of the bulk import and the
 * answers of the API that are joined to the user.
 * https://auth0.com/docs/api/management/v2/users/get-authentication-methods
 * https://auth0.com/docs/manage-users/user-migration/bulk-user-import-database-schema-and-examples (mfa_factors)
 */
import { type Factors, openFactors } from '../factors.ts';
import type { Fields } from '../source.ts';
import { boolAt, listAt, objectAt, objectsAt, textAt } from '../values.ts';

/** Authentication methods that are neither a factor nor a passkey. */
const NO_FACTORS = ['password', 'email-verification'];

/**
 * The factors of `mfa_factors` (the bulk import's format, and Auth0's support), and the authentication methods of the API
 * (https://auth0.com/docs/api/management/v2/users/get-authentication-methods), which has no secrets of apps. What only
 * the profile mentions is lost.
 */
export function factorsOf(user: Fields): Factors {
  const factors = openFactors();
  const given = objectsAt(user, 'mfa_factors');
  for (const factor of given) addFactor(factor, factors);
  const methods = confirmedMethods(user);
  const hasApp = given.some((factor) => textAt(objectAt(factor, 'totp'), 'secret') !== undefined);
  for (const method of methods) addMethod(method, factors, hasApp);
  const isTold = ['multifactor', 'guardian_authenticators'].some((name) => isFilledList(user[name]));
  const isSaid = methods.some((method) => !/passkey|recovery|password|verification/.test(textAt(method, 'type') ?? ''));
  if (isTold && given.length === 0 && !isSaid) factors.lost('secondFactor');
  return factors;
}

/** https://auth0.com/docs/manage-users/user-migration/bulk-user-import-database-schema-and-examples (mfa_factors) */
function addFactor(factor: Fields, factors: Factors): void {
  const secret = textAt(objectAt(factor, 'totp'), 'secret');
  const number = textAt(objectAt(factor, 'phone'), 'value');
  const address = textAt(objectAt(factor, 'email'), 'value');
  if (number !== undefined) factors.sms(number);
  else if (address !== undefined) factors.mail(address);
  else factors.app({ secret });
}

/** @param hasApp the secret of an app is known from elsewhere */
function addMethod(method: Fields, factors: Factors, hasApp: boolean): void {
  const type = textAt(method, 'type') ?? '';
  const [number, address] = [textAt(method, 'phone_number'), textAt(method, 'email')];
  if (NO_FACTORS.includes(type)) return;
  if (type === 'passkey' || type.startsWith('webauthn')) addKey(method, factors, type !== 'passkey');
  else if (type === 'recovery-code') factors.lost('recoveryCodes');
  else if (type === 'phone' && number !== undefined) factors.sms(number);
  else if (type === 'email' && address !== undefined) factors.mail(address);
  else if (type === 'totp' && textAt(method, 'totp_secret') !== undefined)
    factors.app({ secret: textAt(method, 'totp_secret') });
  else if (type !== 'totp' || !hasApp) factors.lost('secondFactor');
}

/** The API answers with the key of a passkey; where it does not, as for older security keys, it is lost. */
function addKey(method: Fields, factors: Factors, secondFactorOnly: boolean): void {
  factors.passkey({
    credentialId: method.key_id,
    publicKey: method.public_key,
    rpId: textAt(method, 'relying_party_identifier'),
    userHandle: method.user_handle,
    transports: method.transports,
    name: textAt(method, 'name'),
    backedUp: boolAt(method, 'credential_backed_up'),
    secondFactorOnly,
  });
}

function isFilledList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** The authentication methods that the user has set up. */
export function confirmedMethods(user: Fields): Fields[] {
  return listAt(user, 'authentication_methods').filter((method) => boolAt(method, 'confirmed') !== false);
}
