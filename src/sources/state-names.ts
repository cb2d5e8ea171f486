/**
 * Tells from the name of a field whether it says that a user may sign in, in many languages and spellings: `is_active`,
 * `OXACTIVE`, `Gelöscht am`, `ban_reason`, `security.ban.active`.
 *
 * A name is taken apart into words. One that holds a word for a state, and besides only words that add nothing (`is`,
 * `account`, `date`), has the meaning of that word; one with further words is unclear, unless these name another thing
 * (`email_disabled`).
 */
import type { Fields } from './source.ts';
import { CONTEXT, isFields, plainName } from './values.ts';
import { folded } from './words.ts';

/** What a field says. `activeUntil` is the end of an account or a membership: a flag, or a date that may be to come. */
export type NameMeaning =
  | 'active'
  | 'inactive'
  | 'locked'
  | 'unlocked'
  | 'deleted'
  | 'activeUntil'
  | 'inactiveUntil'
  | 'lockedUntil'
  /** A state in words. */
  | 'status'
  /** A list in which some words are states. */
  | 'marks'
  /** The same of something that the name may say, or may not. */
  | 'perhaps status'
  | 'perhaps active'
  | 'perhaps inactive';

/** Words for states by language: English, then de fr es pt it pl nl sv da fi cs hu ro tr ru uk bg el ja zh ko ar he vi id. */
export const STATE_WORDS = {
  active: `active enabled activated authorized authorised valid
    aktiv aktiviert freigeschaltet freigegeben actif active activee activo activa activado habilitado habilitada ativo
    ativa ativado attivo attiva attivato abilitato aktywny aktywna aktywne wlaczony actief geactiveerd ingeschakeld
    aktiverad aktiveret aktivert kaytossa aktiivinen aktivni aktivny povolen povoleny engedelyezett activ activat aktif
    etkin активен активна активно активный активний включен включён увімкнено ενεργός ενεργή ενεργό 有効 利用可 利用可能
    アクティブ 启用 啟用 有效 激活 사용 사용중 활성 활성화 نشط مفعل فعال פעיל hoatdong kichhoat diaktifkan aktivan aktiven
    aktyvus`,
  inactive: `inactive disabled disable blocked block blacklisted blacklist banned ban suspended suspend suspension deactivated
    deactivate archived forbidden prohibited revoked frozen terminated closed invalid voided retired quarantined
    deprovisioned spammer nologin unapproved
    gesperrt sperre sperrung blockiert deaktiviert inaktiv stillgelegt bloqué bloquée désactivé désactivée suspendu
    suspendue inactif banni bannie bloqueado bloqueada inactivo inactiva desactivado desactivada deshabilitado suspendido
    suspendida inativo inativa desativado desativada desabilitado suspenso bloccato bloccata inattivo inattiva disattivato
    disattivata disabilitato sospeso zablokowany zablokowana zablokowane nieaktywny nieaktywna wylaczony zawieszony
    geblokkeerd uitgeschakeld inactief gedeactiveerd geschorst spärrad spärrat inaktiverad avstängd blockerad spærret
    sperret blokeret blokkert deaktiveret deaktivert estetty passivoitu suljettu blokovan blokovany zablokovan zablokovany
    neaktivni neaktivny zakazany letiltva letiltott tiltott blocat inactiv dezactivat suspendat engellendi engellenmis
    pasif devredisi yasakli заблокирован заблокирована заблокировано блокирован блокировка отключен отключён деактивирован
    неактивен неактивный забанен заблоковано заблокований вимкнено неактивний блокиран деактивиран αποκλεισμένος ανενεργός
    απενεργοποιημένος 無効 停止 停止中 利用停止 凍結 ブロック 禁止 停用 禁用 封禁 冻结 拉黑 차단 차단됨 정지 비활성
    비활성화 휴면 사용중지 محظور معطل موقوف חסום מושבת מושעה bikhoa vohieuhoa diblokir nonaktif dinonaktifkan neaktivan
    onemogucen blokeeritud neaktyvus uzblokuotas`,
  locked: `locked lock lockedout lockout gelockt verrouillé verrouillée vergrendeld lukittu zarolt kilitli ロック 锁定 鎖定
    잠금 terkunci`,
  deleted: `deleted delete removed erased anonymized anonymised purged discarded softdeleted trash trashed
    gelöscht geloescht entfernt supprimé supprimée eliminado eliminada borrado excluido excluida removido apagado eliminato
    cancellato rimosso usuniety usunieta verwijderd borttagen raderad slettet poistettu smazan smazany odstranen zmazany
    torolt torolve sters silindi silinmis удален удалён удалено видалено видалений изтрит διαγραμμένος 削除 削除済 削除済み
    删除 刪除 已删除 注销 삭제 삭제됨 محذوف נמחק daxoa dihapus obrisan`,
  left: `expired termination left leaving exit resigned resignation austritt austrittsdatum ausgetreten gekuendigt gekündigt
    kuendigung kündigungsdatum abgelaufen abgemeldet sortie départ baja salida saída uscita uitdienst afsked avgått
    уволен увольнение 退会 退職 离职 離職 탈퇴 퇴사`,
} as const;

/** The names of fields that mean a state in many systems, as `plainName` writes them. */
export const STATE_NAMES = {
  active: `enabled active isactive isenabled activated isactivated accountenabled userenabled isapproved approved
    accountactive accountisactive useractive allowlogin loginallowed loginenabled canlogin cansignin canauthenticate
    signinallowed accountnonexpired isaccountnonexpired aktiv aktiviert actif activo ativo attivo`,
  inactive: `disabled isdisabled accountdisabled userdisabled blocked isblocked accountblocked userblocked blockcredential
    blocksignin signinblocked suspended issuspended accountsuspended banned isbanned deactivated isdeactivated inactive
    isinactive archived isarchived forbidden isforbidden revoked isrevoked frozen isfrozen terminated isterminated gesperrt
    deaktiviert disabledat blockedat bannedat suspendedat deactivatedat archivedat terminatedat revokedat disabledon
    suspendedon blockedon deactivatedon dateblocked datedisabled`,
  locked: 'locked islocked lockedout islockedout accountlocked isaccountlocked userlocked lockedat',
  unlocked: 'accountnonlocked isaccountnonlocked',
  deleted: `deleted isdeleted deletedat deleteat deletedon deleteddate datedeleted softdeleted issoftdeleted removed
    isremoved removedat discardedat erasedat userdeleted accountdeleted`,
  inactiveUntil:
    'activefrom activedate validfrom gultigab gueltigab gltigab start starttime startsat activatesat banneduntil bannedtill suspendeduntil suspendedtill blockeduntil disableduntil banexpires',
  activeUntil: `expires expiresat expireson expiry expirydate expirydatetime expiration expirationdate expirationtime
    expirationtimestamp expirydt expdate accountexpires accountexpiresat accountexpireson accountexpiry accountexpirydate
    accountexpiration accountexpirationdate accountexpirationtime accountenddate accountvaliduntil userexpires
    userexpiresat userexpiry userexpirationdate validuntil validto validtill validthru validthrough gultigbis gueltigbis gltigbis
    ablaufdatum ablauf enddate endtime enddatetime endsat endson stop stoptime expiredat activeuntil activeto
    rolvaliduntil inactivedate inactivationdate disableon loginexpirationtime dateexpiration datefin fechafin
    fechaexpiracion datascadenza`,
  lockedUntil: 'lockeduntil lockuntil lockoutend lockoutenddateutc lockoutuntil lockexpiresat',
} as const;

/** Fields that name a state in words, besides `state`, which may also be a part of an address. */
export const STATUS_NAMES = [
  ...['status', 'userstate', 'userstatus', 'accountstatus', 'accountstate', 'statut', 'estado', 'stato'],
];

/** What is said of people and hardly of anything else, as `wordOf` writes it. */
export const WORDS_OF_PEOPLE = `nologin banned banneduser bannedusers suspended suspendeduser suspendedusers blacklisted deactivated deactivateduser
  deactivatedusers blockeduser blockedusers disableduser disabledusers lockedout accountdisabled accountlocked gesperrt
  gesperrtebenutzer banni bannie suspendu suspendue desactivado suspendido bloqueado`;

/** Flags of a profile as often as of an account: read as a state, unless states are left out. */
const SOFT = { active: 'published visible', inactive: 'hidden invisible unpublished' };

const STATUS = `status state userstate userstatus statut etat état estado situacao situação situacion stato stav stan zustand
  kontostatus kontozustand benutzerstatus durum tila allapot állapot stare tilstand toestand статус состояние стан κατάσταση
  状态 狀態 状態 ステータス 상태 حالة סטטוס trangthai`;

/** Words that add nothing to the word for a state. */
const FILLERS = `is has was are be been isnt account accounts acct user users usr member customer client person people employee
  staff profile login logins signin logon sign log in access credential record konto benutzer benutzerkonto nutzer mitglied
  kunde zugang compte utilisateur cuenta usuario conta utente account gebruiker konto uzytkownik kayttaja
  flag flags yn ind indicator id value code type bool boolean temp temporary temporarily permanently manually auto admin by
  at on date datum time timestamp tstamp ts since day dt reason reasons comment note message cause grund motif motivo
  am le el em il del der data fecha fecha dato дата причина
  アカウント ユーザー ユーザ 会員 フラグ 日 日時 用户 账号 帐号 账户 是否 已 标志 时间 日期 계정 회원 여부 일시
  soft meta metadata data attributes attrs info details system app appmetadata custom claims traits public private security auth
  authentication identity status state states global self core main general site wp db u lockstatus fully currently`;

const NOT = 'not non no un isnt never ne nao nicht nie';
const UNTIL = 'until till to end ends expires expire expiry expiration bis jusqu';
const MAY = 'can may allow allowed permit permitted erlaubt able';
const MUST_NOT = 'prohibit deny denied cannot cant prevent refuse no disallow disallowed';
const TO_SIGN_IN = 'login logon signin log sign authenticate auth access anmelden anmeldung';

/** Words that say that the state is of something else than the account. */
const ELSE = new Set(
  words(`tfa twofa google2fa gauth webauthn passkey passkeys u2f email emails mail mails newsletter phone phones sms mobile mfa factor 2fa twofactor totp otp subscription subscriptions
  subscriber subscribed marketing order orders payment payments billing invoice marital civil last seen count counter counts
  attempt attempts failed failure failures tries password passwords passwd pwd pass credentials token tokens session
  sessions key keys apikey card bank shipping delivery notification notifications notify push newsletter comments avatar
  image photo picture address addresses location geo city country province region home work features theme cookies cookie
  consent gdpr ads tracking plan trial vacation holiday relationship employment family health insurance visa
  lockout version timeout amount balance users ids list friends organization organisation company tenant team group groups role roles
  product products device devices store shop course project projects job jobs ticket tickets score loginsource`),
);
/** With a status they make the text that a person writes, or the time when it changed. */
const REMARKS = new Set(words('message text note comment at on date time since timestamp by reason'));
const REGIONS = new Set(words('code id name province abbr iso'));
const REASONS = new Set(words('reason reasons comment note message cause grund motif motivo by причина'));
/** Words that only end with one for a state. */
const ONLY_ALIKE = /(?:re|pro|inter|retro|radio|hyper|psycho)active|unblocked|unbanned|undeleted|undelete|reactivated$/;
/** Words before which a name may have some letters of its program: `OXACTIVE`, `rolcanlogin`. */
const STRONG = words('inactive active disabled enabled blocked locked deleted suspended banned canlogin nologin');
const LONGEST_PREFIX = 4;

type Kind = keyof typeof STATE_WORDS | 'status' | 'unlocked' | 'soft-active' | 'soft-inactive';

const KINDS = new Map<string, Kind>([
  ...words(STATUS).map((word): [string, Kind] => [word, 'status']),
  ...Object.entries(STATE_WORDS).flatMap(([kind, list]) =>
    words(list).map((word): [string, Kind] => [word, kind as Kind]),
  ),
  ...words(SOFT.active).map((word): [string, Kind] => [word, 'soft-active']),
  ...words(SOFT.inactive).map((word): [string, Kind] => [word, 'soft-inactive']),
  ['approved', 'active'],
  ['unlocked', 'unlocked'],
  ['nonlocked', 'unlocked'],
]);
const FILLER = new Set(words(FILLERS));
const NEGATION = new Set(words(NOT));
const ENDING = new Set(words(UNTIL));
const PERMISSION = new Set(words(MAY));
const PROHIBITION = new Set(words(MUST_NOT));
const ENTRANCE = new Set(words(TO_SIGN_IN));

function words(text: string): string[] {
  return text.trim().split(/\s+/).map(folded);
}

const ANSWERS = new Map<string, NameMeaning | undefined>();
const MOST_ANSWERS = 1000;
const LONGEST_NAME = 100;

/** @param name of a field, or its path: `security.ban.active` */
export function meaningOfName(name: string): NameMeaning | undefined {
  if (name.length > LONGEST_NAME) return undefined;
  if (ANSWERS.has(name)) return ANSWERS.get(name);
  const meaning = meaningOfWords(wordsOf(name));
  if (ANSWERS.size >= MOST_ANSWERS) ANSWERS.clear();
  ANSWERS.set(name, meaning);
  return meaning;
}

/** Whether the field says why, or by whom, a state was set: any value means that it was. */
export function isReason(name: string): boolean {
  return wordsOf(name).some((word) => REASONS.has(word));
}

const SOFTLY = new Set([...words(SOFT.active), ...words(SOFT.inactive)]);

/** Whether the field is a flag of a profile as often as a state of the account: `hidden`. */
export function isProfileFlag(name: string): boolean {
  return wordsOf(name).some((word) => SOFTLY.has(word));
}

/** What people belong to may say that they are kept out: `role` is `banned`. */
const OF_PEOPLE = new Set(words('role roles group groups'));

/** Whether the field is of something else than the account. */
export function isOfElse(name: string): boolean {
  return wordsOf(name).some((word) => ELSE.has(word) && !OF_PEOPLE.has(word));
}

/** Without remarks such as `[READ ONLY]`, which Google Workspace adds. */
function wordsOf(name: string): string[] {
  const spaced = name
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2');
  const parts = folded(spaced).split(/[^\p{L}\p{N}]+/u);
  const whole = parts.join('');
  if (KINDS.has(whole)) return [whole];
  return parts.filter((part) => part !== '').flatMap((part) => (isKnown(part) ? [part] : (segmented(part) ?? [part])));
}

function isKnown(word: string): boolean {
  return [KINDS, FILLER, NEGATION, ENDING, PERMISSION, PROHIBITION, ENTRANCE, ELSE].some((set) => set.has(word));
}

/** The known words that make up a text without spaces, such as `logindisabled`; a short prefix may be unknown. */
function segmented(text: string): string[] | undefined {
  if (ONLY_ALIKE.test(text)) return undefined;
  const strong = STRONG.find((word) => text.endsWith(word) && text.length - word.length <= LONGEST_PREFIX);
  const found = split(text, new Map());
  if (found?.some((word) => KINDS.has(word) || ENTRANCE.has(word))) return found;
  return strong === undefined ? undefined : strong === 'canlogin' ? ['can', 'login'] : [strong];
}

function split(text: string, seen: Map<string, string[] | undefined>): string[] | undefined {
  if (text === '') return [];
  if (seen.has(text)) return seen.get(text);
  seen.set(text, undefined);
  for (let end = text.length; end > 0; end--) {
    const word = text.slice(0, end);
    if (!isKnown(word) || /^[a-z]$/.test(word)) continue;
    const rest = split(text.slice(end), seen);
    if (rest) {
      seen.set(text, [word, ...rest]);
      break;
    }
  }
  return seen.get(text);
}

function meaningOfWords(all: readonly string[]): NameMeaning | undefined {
  if (all.some((word) => ELSE.has(word)) || isRightToDelete(all)) return undefined;
  if (all.at(-1) === 'flags' && all.every((word) => FILLER.has(word))) return 'marks';
  const kinds = new Set(all.flatMap((word, i) => kindOf(word, i)));
  const entrance = entranceOf(all);
  if (entrance && kinds.size === 0) return entrance;
  if (kinds.size === 0) return undefined;
  const meaning = kinds.size === 1 && kinds.has('status') ? statusOf(all) : meaningOfKinds(kinds, all);
  if (meaning === undefined || all.every((word) => isKnown(word) || /^\d+$/.test(word))) return meaning;
  if (meaning === 'activeUntil' || [...kinds].every((kind) => kind.startsWith('soft'))) return undefined;
  if (meaning === 'status') return 'perhaps status';
  return meaning === 'active' || meaning === 'unlocked' ? 'perhaps active' : 'perhaps inactive';
}

/** `can_delete`, `delete_self_enabled`: what the user may do, not what became of them. */
function isRightToDelete(all: readonly string[]): boolean {
  return all.includes('delete') && all.some((word) => PERMISSION.has(word) || word === 'enabled');
}

/** `left` and `exit` stand first: `days_left` is a number of days. */
function kindOf(word: string, place: number): Kind[] {
  const kind = KINDS.get(word);
  return kind === undefined || (place > 0 && (word === 'left' || word === 'exit')) ? [] : [kind];
}

/** `can_login`, `LoginAllowed`; `prohibit_login`, `no login`. */
function entranceOf(all: readonly string[]): 'active' | 'inactive' | undefined {
  const at = all.findIndex((word) => ENTRANCE.has(word));
  if (at < 0) return undefined;
  if (all.some((word, i) => PROHIBITION.has(word) && i < at)) return 'inactive';
  const isAllowed = all.some((word) => PERMISSION.has(word));
  return isAllowed ? (isNegated(all) ? 'inactive' : 'active') : undefined;
}

function isNegated(all: readonly string[]): boolean {
  return all.filter((word) => NEGATION.has(word)).length % 2 === 1;
}

/** `status_message` is a text, and `state_code` a part of an address. */
function statusOf(all: readonly string[]): NameMeaning | undefined {
  const isRegion =
    all.some((word) => ['state', 'estado', 'stato'].includes(word)) && all.some((word) => REGIONS.has(word));
  return isRegion || all.some((word) => REMARKS.has(word) || ENDING.has(word)) ? undefined : 'status';
}

/** Of several words the one that keeps out decides: `ban.active`, `status_locked`. */
function meaningOfKinds(kinds: ReadonlySet<Kind>, all: readonly string[]): NameMeaning | undefined {
  const isEnding = all.some((word) => ENDING.has(word));
  const isNot = isNegated(all);
  if (kinds.has('inactive') || kinds.has('soft-inactive'))
    return isEnding ? 'inactiveUntil' : isNot ? 'active' : 'inactive';
  if (kinds.has('locked')) return isEnding ? 'lockedUntil' : isNot ? 'unlocked' : 'locked';
  if (kinds.has('left')) return isNot ? 'active' : 'activeUntil';
  if (isEnding || all.some((word) => ['from', 'since', 'start', 'starts'].includes(word))) return undefined;
  if (kinds.has('deleted')) return isNot ? 'active' : 'deleted';
  if (kinds.has('unlocked')) return 'unlocked';
  return isNot ? 'inactive' : 'active';
}

/** Whether the object is how a program writes a single value: `{"$numberInt":"1"}`, `{"_seconds":1}`, a Buffer of Node.js. */
function isValue(value: Fields): boolean {
  const names = Object.keys(value);
  return (
    value.type === 'Buffer' || (names.length > 0 && names.every((name) => /^(?:\$|_?(?:nano)?seconds$)/.test(name)))
  );
}

/** Levels of objects below the record. */
const DEEPEST = 2;
const MOST_FIELDS = 2000;

/**
 * The paths of the fields of a record whose names may say a state, also in objects. An object is one itself only if no
 * field in it is.
 * @param meaningFor as `meaningOfName`
 */
export function statePaths<T>(record: Fields, meaningFor: (path: string) => T | undefined): Map<string, T> {
  const found = new Map<string, T>();
  let seen = 0;
  const visit = (object: Fields, above: string, depth: number) => {
    for (const [name, value] of Object.entries(object)) {
      if (name === CONTEXT || (above !== '' && ++seen > MOST_FIELDS)) continue;
      const path = above + name;
      const before = found.size;
      if (depth < DEEPEST && isFields(value) && !isValue(value) && !name.includes('.'))
        visit(value, `${path}.`, depth + 1);
      const meaning = found.size > before ? undefined : meaningFor(path);
      if (meaning !== undefined) found.set(path, meaning);
    }
  };
  visit(record, '', 0);
  return found;
}

/** Columns of an address, as `plainName` writes them. */
export const OF_ADDRESS =
  /^(?:billing|shipping|home|work|mailing)?(?:city|town|zip|zipcode|postcode|postalcode|country|countrycode|street|streetaddress|address|address1|addressline1|plz|ort|strasse)$/;

/** Columns that are called like a state of the user, and may be a part of the address. */
export const MAY_BE_REGIONS = ['state', 'estado', 'stato'];

/** Whether a column may hold the states of addresses, by its name and by the columns beside it. */
export function isPerhapsRegion(column: string, beside: readonly string[]): boolean {
  return MAY_BE_REGIONS.includes(plainName(column)) && beside.some((name) => OF_ADDRESS.test(plainName(name)));
}
