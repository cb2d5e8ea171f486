/**
 * The attributes of a directory entry without a field: kept under their names in lower case. Several values become a
 * list.
 *
 * The servers' bookkeeping, binary values and (by attribute name) secrets are left out.
 */

import type { Fields } from '../../source.ts';
import { valuesOf } from './values.ts';

/** Attributes that become fields, and those that tell what kind of entry it is. */
const TAKEN =
  'dn objectclass uid userid samaccountname cn givenname gn sn surname displayname gecos preferredlanguage entryuuid objectguid ' +
  'mobile useraccountcontrol nsaccountlock inetuserstatus shadowexpire accountexpires logindisabled lockedbyintruder ' +
  'loginexpirationtime ds-pwp-account-disabled ds-pwp-account-expiration-time';

/** Operational attributes of OpenLDAP, 389 Directory Server, FreeIPA and Active Directory. */
const BOOKKEEPING =
  'createtimestamp modifytimestamp creatorsname modifiersname entrycsn entrydn entryid entryusn structuralobjectclass ' +
  'subschemasubentry hassubordinates contextcsn numsubordinates parentid nsuniqueid passwordgraceusertime authtimestamp ' +
  'whencreated whenchanged usncreated usnchanged instancetype objectcategory objectsid primarygroupid badpasswordtime ' +
  'lastlogon lastlogontimestamp lastlogoff logoncount codepage countrycode admincount dscorepropagationdata lockouttime ' +
  'distinguishedname name samaccounttype iscriticalsystemobject mepmanagedentry logontime logintime loginintruderattempts ' +
  'shadowlastchange shadowmin shadowmax shadowwarning shadowinactive shadowflag acctflags';

const LEFT_OUT = new Set(`${TAKEN} ${BOOKKEEPING}`.split(' '));

/** Prefixes of attributes: Kerberos, Samba, FreeIPA's own, Exchange, password policies and states. */
const FAMILIES = /^(?:krb|samba|ipa(?!uniqueid|sshpubkey)|ms-?ds-|msexch|pwd|ds-|nsds|oath)/;
const SECRET = /password|passwd|pwd|secret(?!ary)|privatekey|credential|token|hash|pin$/;
const BINARY = /certificate|photo|pkcs12|^audio$|^logo$|^thumbnail/;
/** Control characters, except tabs and line breaks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they tell binary values from text
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/;

export function metadataOf(entry: Fields): Fields {
  const kept: Fields = {};
  for (const name of Object.keys(entry)) {
    if (LEFT_OUT.has(name) || FAMILIES.test(name) || SECRET.test(name) || BINARY.test(name)) continue;
    const values = valuesOf(entry, name).filter((value) => value !== '' && !CONTROL.test(value));
    if (values.length > 0) kept[name] = values.length === 1 ? values[0] : values;
  }
  return kept;
}
