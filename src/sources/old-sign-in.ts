/** How a user signed in to the other system, from what the export says of their accounts. */
import { OLD_WAYS, type OldSignIn, type ProviderLink } from './entry.ts';
import type { Missing } from './source.ts';

type OldWay = (typeof OLD_WAYS)[number];

/**
 * The ways that are true, in a fixed order. Undefined if there is none, as the export then does not say; and if there is
 * the password alone, as it is the common case and needs no words.
 */
export function signedInBy(ways: Partial<Record<OldWay, boolean>>): OldSignIn | undefined {
  const found = OLD_WAYS.filter((way) => ways[way] === true);
  return found.some((way) => way !== 'password') ? { ways: found } : undefined;
}

/** Names by which systems call a connection of a company, alone or before a name of its own: `saml.acme`, `oidc_acme`. */
const OF_COMPANIES =
  /^(?:saml|samlp|oidc|sso|adfs|ad|ldap|kerberos|waad|google-apps|okta|pingfederate|sharepoint|office365|ip|auth0-adldap|enterprise|openid_connect|azure_activedirectory_v2|scim|saml2|ws-?federation|openidconnect|azuread|microsoftidentity|genericsaml|aliyunidaas|keycloak)(?:[._:|\-\s]|$)/i;

/** Whether a provider of this kind or name belongs to a company, not to everybody as Google does. */
export function isOfCompany(provider: string): boolean {
  return OF_COMPANIES.test(provider);
}

interface Ways extends Partial<Record<OldWay, boolean>> {
  /** Count as the ways `provider` and `enterprise`, by the names of the providers. */
  links?: readonly ProviderLink[] | undefined;
}

/**
 * As `signedInBy`, also by the user's links.
 * @param password whether the user knows the password of the hash
 */
export function oldSignInOf({ links = [], ...ways }: Ways, password?: OldSignIn['password']): OldSignIn | undefined {
  const ofCompanies = links.map(({ provider }) => isOfCompany(provider));
  const said = signedInBy({
    ...ways,
    provider: ways.provider === true || ofCompanies.includes(false),
    enterprise: ways.enterprise === true || ofCompanies.includes(true),
  });
  return password === undefined ? said : { ...said, password };
}

/** Whether a record has one of these fields, with or without a value: then its query or call was made. */
export function hasField(...names: readonly string[]): Missing['isIn'] {
  return (record) => names.some((name) => Object.hasOwn(record, name));
}
