/**
 * Systems whose tables are recognized by their columns: with the formula of their hashes, which do not tell how they were
 * made (docs/passwords.md), and with the groups of users who are kept out. Whatever the caller says goes before.
 */
import type { Fields } from './source.ts';
import { flagOf, jsonAt, plainName, textAt } from './values.ts';

export interface HashSystem {
  title: string;
  /** Columns that only this system has together, in plain spelling; a record with all of them is recognized. */
  columns: string;
  /** The column of the hash, if its name does not tell. */
  hash?: string;
  /** The column of the salt, if its name does not tell: some systems use the user name. */
  salt?: string;
  /** Separate formulas for digests, and for hashes that contain their salts. */
  digest?: string;
  whole?: string;
  /** The hash is inside other objects, or in a cell with JSON. */
  isInside?: boolean;
  /** The formula depends on other columns; undefined: the hash is as it is. */
  formulaOf?: (row: Fields) => string | undefined;
}

const SALTED_TWICE = 'md5(md5(salt) + md5(password))';
const DIGEST_AND_SALT = 'md5(md5(password) + salt)';
const OF_MD5 = 'crypt(md5(password))';

/** How their own source code makes hashes; the file or the function is named where people may look for it. */
const SYSTEMS: readonly HashSystem[] = [
  // app/models/user.rb
  { title: 'Redmine', columns: 'hashedpassword salt mustchangepasswd', digest: 'sha1(salt + sha1(password))' },
  { title: 'Redmine', columns: 'hashedpassword salt mailnotification', digest: 'sha1(salt + sha1(password))' },
  // catalog/model/account/customer.php, admin/model/user/user.php
  ...['customergroupid', 'usergroupid code'].map((columns) => ({
    title: 'OpenCart',
    columns: `${columns} password salt firstname lastname`,
    digest: 'sha1(salt + sha1(salt + sha1(password)))',
  })),
  // inc/functions_user.php: salt_password
  { title: 'MyBB', columns: 'loginkey password salt usergroup', digest: SALTED_TWICE },
  // IPSMember: generateCompiledPasshash
  { title: 'IP.Board', columns: 'memberspasshash memberspasssalt', hash: 'members_pass_hash', digest: SALTED_TWICE },
  { title: 'phpFox', columns: 'usergroupid username fullname password passwordsalt', digest: SALTED_TWICE },
  // includes/functions_login.php: verify_authentication
  { title: 'vBulletin 3 and 4', columns: 'usergroupid passworddate password salt', digest: DIGEST_AND_SALT },
  // uc_server/model/user.php
  { title: 'UCenter', columns: 'regip secques password salt', digest: DIGEST_AND_SALT },
  // includes/modules/integrates/ecshop.php
  { title: 'ECShop', columns: 'ecsalt password', salt: 'ec_salt', digest: DIGEST_AND_SALT },
  // The browser sends the MD5.
  { title: 'vBulletin 5', columns: 'token scheme usergroupid', hash: 'token', formulaOf: ofVBulletin5 },
  // Sources/LogInOut.php; password_salt is of cookies
  {
    title: 'SMF',
    columns: 'membername passwd passwordsalt',
    salt: 'member_name',
    digest: 'sha1(lower(salt) + password)',
    whole: 'crypt(lower(salt) + password)',
  },
  // include/functions.php: forum_hash
  { title: 'PunBB', columns: 'groupid registrationip password salt', digest: 'sha1(salt + sha1(password))' },
  // encryptUserPwd
  { title: 'Dolphin', columns: 'nickname password salt role', digest: 'sha1(md5(password) + salt)' },
  // engine/lib/users.php: generate_user_password
  { title: 'Elgg', columns: 'guid password salt banned', digest: 'md5(password + salt)' },
  // Security/Encoder/MessageDigestPasswordEncoder.php with its default of 5000
  {
    title: 'Symfony, FOSUserBundle',
    columns: 'usernamecanonical password salt',
    digest: "symfony-sha512(5000, password + '{' + salt + '}')",
  },
  // sfGuardDoctrinePlugin: PluginsfGuardUser
  { title: 'symfony 1', columns: 'algorithm salt password issuperadmin', formulaOf: ofGuard },
  // modules/auth/password/hash
  { title: 'Gitea, Forgejo', columns: 'passwd passwdhashalgo salt', formulaOf: ofGitea },
  {
    title: 'Authlogic',
    columns: 'cryptedpassword passwordsalt persistencetoken',
    hash: 'crypted_password',
    digest: 'sha512-hex(20, password + salt)',
    whole: 'crypt(password + salt)',
  },
  {
    title: 'Sorcery',
    columns: 'cryptedpassword salt',
    hash: 'crypted_password',
    whole: 'crypt(password + salt)',
  },
  // modules/Users/User.php: getPasswordHash; the columns are of modules/Users/vardefs.php
  ...['systemgeneratedpassword', 'sugarlogin', 'employeestatus', 'portalonly', 'showonemployees'].map((column) => ({
    title: 'SugarCRM, SuiteCRM',
    columns: `userhash ${column}`,
    hash: 'user_hash',
    whole: OF_MD5,
  })),
  // Other programs may have this name for their hashes.
  {
    title: 'SugarCRM, SuiteCRM',
    columns: 'userhash username',
    hash: 'user_hash',
    whole: 'crypt(md5(password) | password)',
  },
  // plugins/UsersManager/UsersManager.php: getPasswordHash; core/Db/Schema/Mysql.php. Piwik's users have a token_auth.
  ...['superuseraccess', 'tspasswordmodified', 'idchangelastviewed', 'invitetoken dateregistered'].map((columns) => ({
    title: 'Matomo',
    columns: `login password ${columns}`,
    whole: OF_MD5,
  })),
  { title: 'Matomo, Piwik', columns: 'login password tokenauth dateregistered', whole: OF_MD5 },
  // metabase.util.password; the table core_user
  ...['issuperuser datejoined', 'isqbnewb', 'ssosource', 'loginattributes'].map((columns) => ({
    title: 'Metabase',
    columns: `password passwordsalt ${columns}`,
    whole: 'crypt(salt + password)',
  })),
  // The column says whether the digest comes first.
  { title: 'NodeBB', columns: 'passwordshawrapped password', formulaOf: ofNodeBb },
  // wcf/lib/util/PasswordUtil.class.php: getDoubleSaltedHash
  ...['accesstoken', 'activationcode', 'banreason', 'styleid', 'languageid registrationdate'].map((columns) => ({
    title: 'WoltLab',
    columns: `userid username password ${columns}`,
    formulaOf: ofWoltLab,
  })),
];

/**
 * Tables in which the number of a group says that its members are kept out: by their columns in plain spelling, with the
 * column of the group and the numbers that an installation begins with; the others may sign in, or only `active`.
 */
const GROUPS: readonly { columns: string; group: string; out: string; active?: string }[] = [
  // usergroup: 4 is moderated by COPPA, 8 is banned
  { columns: 'userid usergroupid joindate', group: 'usergroupid', out: '4 8' },
  { columns: 'usergroupid passworddate', group: 'usergroupid', out: '4 8' },
  { columns: 'token scheme usergroupid', group: 'usergroupid', out: '4 8' },
  // MyBB, inc/functions.php: is_banned_usergroup; install/resources/usergroups.xml
  { columns: 'loginkey usergroup', group: 'usergroup', out: '7' },
  // IP.Board, member_groups
  { columns: 'memberspasshash membergroupid', group: 'membergroupid', out: '5' },
  // phpFox, user_group
  { columns: 'usergroupid username fullname passwordsalt', group: 'usergroupid', out: '5' },
  // Discuz!, common_usergroup: 4 and 5 may neither post nor visit, 6 is an address that is banned
  { columns: 'groupid adminid emailstatus avatarstatus', group: 'groupid', out: '4 5 6' },
  // PunBB and FluxBB: FORUM_UNVERIFIED
  { columns: 'groupid registrationip password', group: 'groupid', out: '0' },
  // WoltLab: whoever has a code has not activated the account
  { columns: 'userid registrationdate activationcode', group: 'activationcode', out: '', active: '0' },
];
const KNOWN_GROUPS = GROUPS.map(({ columns, ...group }) => ({ ...group, names: columns.split(' ') }));

/** The column of groups of a known system, with the groups that may sign in and those that may not. */
export function groupsOf(record: Fields): { field: string; active: string; inactive: string } | undefined {
  const columns = new Map(Object.keys(record).map((name) => [plainName(name), name]));
  const found = KNOWN_GROUPS.find(({ names }) => names.every((name) => columns.has(name)));
  const field = found && columns.get(found.group);
  return field === undefined ? undefined : { field, active: found?.active ?? '*', inactive: found?.out ?? '' };
}

/**
 * `accounts-password`: bcrypt and Argon2 of the SHA-256 that the browser sends. Rocket.Chat is built on it. Programs that
 * write such documents themselves may hash the password.
 */
const METEOR: HashSystem = {
  title: 'Meteor',
  columns: '',
  isInside: true,
  whole: 'crypt(sha256(password) | password)',
};
const METEOR_SCHEMES = ['bcrypt', 'argon2'];

const KNOWN = SYSTEMS.map((system): [HashSystem, readonly string[]] => [system, system.columns.split(' ')]);
const SHAPES = new Map<string, HashSystem | undefined>();
const MOST_SHAPES = 1000;

/** The system that the record comes from, if its columns tell. */
export function hashSystemOf(record: Fields): HashSystem | undefined {
  const ofMeteor = jsonAt(jsonAt(record, 'services'), 'password');
  for (const scheme of METEOR_SCHEMES) {
    const path = `services.password.${scheme}`;
    if (Object.hasOwn(ofMeteor, scheme) || Object.hasOwn(record, path)) return { ...METEOR, hash: path };
  }
  const shape = Object.keys(record).join('\n');
  if (SHAPES.has(shape)) return SHAPES.get(shape);
  const names = new Set(Object.keys(record).map(plainName));
  const found = KNOWN.find(([, columns]) => columns.every((column) => names.has(column)))?.[0];
  if (SHAPES.size >= MOST_SHAPES) SHAPES.clear();
  if (shape.length <= 10_000) SHAPES.set(shape, found);
  return found;
}

/** The value of a column in any spelling of its name. */
export function columnValue(row: Fields, column: string): string | undefined {
  const name = Object.keys(row).find((one) => plainName(one) === plainName(column));
  return name === undefined ? undefined : textAt(row, name);
}

/** `scheme` is `blowfish:10`, `argon2id`, or `legacy` for the digest and the salt of version 4, with a blank between. */
function ofVBulletin5(row: Fields): string {
  return columnValue(row, 'scheme') === 'legacy' ? DIGEST_AND_SALT : 'crypt(md5(password))';
}

function ofGuard(row: Fields): string | undefined {
  const algorithm = columnValue(row, 'algorithm')?.toLowerCase();
  return algorithm === 'sha1' || algorithm === 'md5' ? `${algorithm}(salt + password)` : undefined;
}

/** Its key of 50 bytes is longer than a block, whose first is enough. */
function ofGitea(row: Fields): string | undefined {
  const algorithm = columnValue(row, 'passwd_hash_algo') ?? '';
  const rounds = /^pbkdf2\$(\d+)\$\d+$/.exec(algorithm)?.[1] ?? GITEA_ROUNDS[algorithm];
  return rounds === undefined ? undefined : `pbkdf2-sha256(${rounds}, salt)`;
}

const GITEA_ROUNDS: Readonly<Record<string, string>> = {
  pbkdf2: '10000',
  pbkdf2_v1: '10000',
  pbkdf2_v2: '50000',
  pbkdf2_hi: '320000',
};

/** Digests of 20 bytes are SHA-1; longer ones are SHA-256 or an HMAC, which the table does not tell. */
function ofNodeBb(row: Fields): string | undefined {
  const name = Object.keys(row).find((one) => plainName(one) === 'passwordshawrapped') as string;
  return flagOf(row[name]) === true ? 'crypt(sha512(password))' : undefined;
}

/**
 * Without a prefix, which version 5.4 added, bcrypt twice with one salt (DoubleBcrypt.class.php: isLegacyDoubleBcrypt);
 * before version 2, SHA-1 (Wcf1.class.php).
 */
function ofWoltLab(row: Fields): string | undefined {
  const password = columnValue(row, 'password') ?? '';
  if (/^\$2[axy]\$/.test(password)) return 'bcrypt(bcrypt(password))';
  return /^[0-9a-f]{40}$/i.test(password) ? 'sha1(salt + sha1(salt + sha1(password)))' : undefined;
}
