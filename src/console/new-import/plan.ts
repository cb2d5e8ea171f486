/**
 * What a person has chosen in the steps so far, and how far the draft is.
 *
 * The draft keeps what it was last converted and checked with. Anything newer is in the address, so that steps can be
 * revisited while a file is still being uploaded, before the draft can take it.
 */
import type { Sent } from '../../contract/client.ts';
import { text } from '../../platform/html/forms.ts';
import { ENCODINGS, type Encoding } from '../../sources/read/encoding.ts';
import { SOURCES } from '../../sources/registry.ts';
import {
  type Draft,
  type Guess,
  isComplete,
  isRecognizable,
  type Result,
  type ShownDraft,
  settled,
} from '../shapes.ts';
import { count, percent, widths } from '../shell/blocks.ts';
import type { LiveState } from '../shell/live.ts';
import { CHECK } from '../texts/new-import.ts';

type Conversion = NonNullable<ShownDraft['conversion']>;
type Settings = NonNullable<ShownDraft['settings']>;

export interface Plan extends Settings {
  /** Empty: as recognized. */
  source: string;
  mapping: Readonly<Record<string, string>>;
  /** Of all files; empty: as recognized. */
  encoding: Encoding | '';
  /** Of workbooks; empty: the first that is not hidden. */
  sheet: string;
  /** How hashes that do not say it were made; empty: not given. */
  hashFormat: string;
  /** Empty: the files name it. */
  orgId: string;
  withoutEmail: boolean;
  /** Verifies users whose password the files do not contain; empty: none. */
  passwordSource: string;
  /** What other callers of the API have set, and no step shows. */
  others: Pick<Conversion, 'idPrefix' | 'quoteAddresses' | 'unknownPasswords' | 'passkeyRpId' | 'format' | 'strict'>;
}

/** Longer addresses are cut off on the way. */
export const MOST_MAPPED = 100;
const MAP = 'map.';
const EXISTING = ['fail', 'skip', 'update'] as const;

/** @param query the parameters of the address; they take precedence */
export function planOf(query: unknown, draft: ShownDraft): Plan {
  const { conversion = {}, settings } = draft;
  const kept = keptPlan(conversion, settings, draft.orgId);
  const given = (name: string, other: string) => (has(query, name) ? text(query, name) : other);
  const named = given('source', kept.source);
  const source = named === '' || SOURCES.some(({ name }) => name === named) ? named : kept.source;
  const encoding = has(query, 'encoding') ? encodingIn(query) : kept.encoding;
  const sheet = given('sheet', kept.sheet);
  const existing = EXISTING.find((one) => one === text(query, 'existing'));
  const mails = text(query, 'mails');
  return {
    source,
    encoding,
    sheet,
    // In another encoding, and in another sheet, the columns have other names.
    mapping: mappingOf(query) ?? (isSameTable({ source, encoding, sheet }, kept) ? kept.mapping : {}),
    hashFormat: given('hashFormat', kept.hashFormat),
    orgId: given('org', kept.orgId),
    withoutEmail: given('noEmail', kept.withoutEmail ? '1' : '') === '1',
    passwordSource: given('passwords', kept.passwordSource),
    others: kept.others,
    onExisting: existing ?? kept.onExisting,
    mails: mails === 'auto' || mails === 'none' ? mails : kept.mails,
    enterpriseMailCodes: given('enterpriseCodes', kept.enterpriseMailCodes ? '1' : '') === '1',
    timeout: given('timeout', kept.timeout),
  };
}

function keptPlan(
  { orgId, ...conversion }: Conversion,
  settings: Settings = { timeout: '1h', onExisting: 'fail', mails: 'none', enterpriseMailCodes: true },
  org: string,
): Plan {
  const {
    source = '',
    encoding = '',
    sheet = '',
    mapping = {},
    hashFormat = '',
    withoutEmail = false,
    passwordSource = '',
    ...others
  } = conversion;
  const { timeout, onExisting, mails, enterpriseMailCodes } = settings;
  const ofFiles: Omit<Plan, keyof Settings> = {
    source,
    encoding,
    sheet,
    mapping,
    hashFormat,
    orgId: orgId ?? org,
    withoutEmail,
    passwordSource,
    others,
  };
  return { ...ofFiles, timeout, onExisting, mails, enterpriseMailCodes };
}

/** The encoding that a form or an address names; empty: as recognized. */
export function encodingIn(given: unknown): Encoding | '' {
  return ENCODINGS.find((one) => one === text(given, 'encoding')) ?? '';
}

function has(query: unknown, name: string): boolean {
  return typeof (query as Record<string, unknown>)[name] === 'string';
}

function mappingOf(query: unknown): Record<string, string> | undefined {
  const given = Object.entries(query as Record<string, unknown>)
    .filter((pair): pair is [string, string] => pair[0].startsWith(MAP) && typeof pair[1] === 'string')
    .slice(0, MOST_MAPPED);
  return given.length === 0
    ? undefined
    : Object.fromEntries(
        given.filter(([name]) => name !== MAP).map(([name, column]) => [name.slice(MAP.length), column]),
      );
}

/** The part of the plan that the draft does not know yet, for an address; empty or with a question mark. */
export function queryOfPlan(plan: Plan, draft: ShownDraft): string {
  const { source, orgId, withoutEmail, onExisting, mails, timeout } = plan;
  const kept = planOf({}, draft);
  const query = new URLSearchParams();
  if (source !== kept.source) query.set('source', source);
  if (plan.encoding !== kept.encoding) query.set('encoding', plan.encoding);
  if (plan.sheet !== kept.sheet) query.set('sheet', plan.sheet);
  const isOther = !isSameTable(plan, kept);
  if (isOther || !isSame(plan.mapping, kept.mapping)) {
    for (const [field, column] of Object.entries(plan.mapping)) query.set(MAP + field, column);
    // That no field is mapped any more is a choice too.
    if (!isOther && Object.keys(plan.mapping).length === 0) query.set(MAP, '');
  }
  if (plan.hashFormat !== kept.hashFormat) query.set('hashFormat', plan.hashFormat);
  if (orgId !== kept.orgId) query.set('org', orgId);
  if (withoutEmail !== kept.withoutEmail) query.set('noEmail', withoutEmail ? '1' : '');
  if (plan.passwordSource !== kept.passwordSource) query.set('passwords', plan.passwordSource);
  if (onExisting !== kept.onExisting) query.set('existing', onExisting);
  if (mails !== kept.mails) query.set('mails', mails);
  if (plan.enterpriseMailCodes !== kept.enterpriseMailCodes) {
    query.set('enterpriseCodes', plan.enterpriseMailCodes ? '1' : '');
  }
  if (timeout !== kept.timeout) query.set('timeout', timeout);
  return query.size > 0 ? `?${query}` : '';
}

type Table = Pick<Plan, 'source' | 'encoding' | 'sheet'>;

/** Whether the files are read in the same way, so that a mapping of one fits the other. */
export function isSameTable(a: Table, b: Table): boolean {
  return a.source === b.source && a.encoding === b.encoding && a.sheet === b.sheet;
}

function isSame(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** The body of `_convert`. */
export function conversionOf(plan: Plan): Sent<'convertImport'> {
  const { source, encoding, sheet, mapping, hashFormat, orgId, withoutEmail, passwordSource, others } = plan;
  return {
    ...others,
    ...(source ? { source } : {}),
    ...(encoding ? { encoding } : {}),
    ...(sheet ? { sheet } : {}),
    ...(Object.keys(mapping).length > 0 ? { mapping: { ...mapping } } : {}),
    ...(hashFormat ? { hashFormat } : {}),
    ...(orgId ? { orgId } : {}),
    ...(withoutEmail ? { withoutEmail } : {}),
    ...(passwordSource ? { passwordSource } : {}),
  };
}

/** Whether the draft was converted as the plan says; users that came in a request always are. */
export function isConverted(plan: Plan, draft: ShownDraft): boolean {
  if (draft.files.length === 0) return true;
  const kept = planOf({}, draft);
  return (
    draft.conversion !== undefined &&
    isSameTable(plan, kept) &&
    plan.orgId === (draft.conversion.orgId ?? draft.orgId) &&
    plan.withoutEmail === kept.withoutEmail &&
    plan.hashFormat === kept.hashFormat &&
    plan.passwordSource === kept.passwordSource &&
    isSame(plan.mapping, kept.mapping)
  );
}

/** Whether the latest check says what the plan would do. */
export function isChecked(plan: Plan, { state, draft }: Draft): boolean {
  if (state !== 'IMPORT_STATE_CHECKED' || !isConverted(plan, draft)) return false;
  const { onExisting, enterpriseMailCodes } = draft.settings ?? {};
  return onExisting === plan.onExisting && enterpriseMailCodes === plan.enterpriseMailCodes;
}

/** Whether a person says what the columns of the source are. */
export function isMapped(source: string): boolean {
  return source === 'csv' || source === 'ndjson';
}

/**
 * The source that files are read as, unless another one is chosen: as chosen before, or as recognized; a table that no
 * source recognizes is one of a person's own. Empty where a person must choose.
 */
export function sourceOf({ source }: Plan, guess: Guess | string | undefined): string {
  if (source !== '' || typeof guess !== 'object') return source;
  const isTable = guess.files.length > 0 && guess.files.every(({ format }) => format === 'csv');
  return guess.source || (guess.candidates.length === 0 && isTable ? 'csv' : '');
}

/** What changes on the pages of a draft by itself. */
export function draftState(result: Result): LiveState {
  const { state, draft, missingRoles = [] } = result;
  if (!draft) return { shape: state, text: {} };
  const { files, progress, check, error } = draft;
  const sent = files.reduce((sum, { offset }) => sum + offset, 0);
  const size = files.reduce((sum, one) => sum + one.size, 0);
  const done = check ? settled(check.counts) : 0;
  return {
    shape: [
      state,
      isRecognizable(files),
      isComplete(files),
      check !== undefined,
      error !== undefined,
      missingRoles,
    ].join(' '),
    text: {
      upload: percent(sent, size),
      convert: progress ? CHECK.read(percent(progress.bytes, progress.totalBytes), count(progress.users)) : '',
      check: check ? CHECK.checkedOf(count(done), count(check.counts.total)) : '',
    },
    bars: {
      upload: [share(sent, size)],
      convert: [progress ? share(progress.bytes, progress.totalBytes) : 0],
      check: check ? widths(check.counts) : [0],
    },
  };
}

/** In percent, with two decimals. */
function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100;
}

const OPTION_OF_KIND = { users: undefined, hashes: '--hashes', hash_parameters: '--hash-config' } as const;

/**
 * The import of a draft as a command line, for people who repeat it. It never has a pepper: for that, the command asks in
 * the terminal.
 */
export function commandFor({ files, source, pepper }: ShownDraft, plan: Plan): string {
  const { orgId, encoding, sheet, mapping, hashFormat, onExisting, mails, timeout, withoutEmail, passwordSource } =
    plan;
  const { idPrefix, quoteAddresses, unknownPasswords, passkeyRpId, format, strict } = plan.others;
  const words = [
    'muster',
    'import',
    ...files.filter(({ kind }) => kind === 'users').map(({ name }) => pathOf(name)),
    ...files.flatMap(({ name, kind }) => [OPTION_OF_KIND[kind], pathOf(name)].filter(() => OPTION_OF_KIND[kind])),
    '--from',
    source,
    ...(format ? ['--format', format] : []),
    ...(encoding ? ['--encoding', encoding] : []),
    ...(sheet ? ['--sheet', sheet] : []),
    ...(idPrefix ? ['--id-prefix', idPrefix] : []),
    ...(quoteAddresses ? ['--quote-addresses'] : []),
    ...(unknownPasswords ? ['--unknown-passwords', unknownPasswords] : []),
    ...(passkeyRpId ? ['--passkey-rp-id', passkeyRpId] : []),
    ...(strict ? ['--strict'] : []),
    ...(orgId ? ['--org', orgId] : []),
    ...Object.entries(mapping).flatMap(([field, column]) => ['--map', `${field}=${column}`]),
    ...(hashFormat ? ['--hash-format', hashFormat] : []),
    ...(onExisting === 'fail' ? [] : ['--on-existing', onExisting]),
    ...(plan.enterpriseMailCodes ? [] : ['--no-enterprise-mail-codes']),
    ...(withoutEmail ? ['--without-email'] : []),
    ...(passwordSource ? ['--password-source', passwordSource] : []),
    ...(pepper ? ['--pepper-mode', pepper] : []),
    '--mails',
    mails,
    '--timeout',
    timeout,
  ];
  return words.map((word) => quoted(String(word))).join(' ');
}

/** A name that begins with a dash is no option. */
function pathOf(name: string): string {
  return name.startsWith('-') ? `./${name}` : name;
}

/** A word of a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
