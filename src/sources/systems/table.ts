/**
 * Makes a source from a description of its records: which column becomes which field of a person. For systems whose
 * export is a table, or a list of objects with few levels.
 *
 * Guarantee: every column that `columns` and `links` do not name, and that is not dropped, becomes metadata, unless its
 * name says that it is a secret. That a function reads a column is not known here.
 */
import type { OldSignIn, Person, ProviderLink } from '../entry.ts';
import { SECOND_FACTOR_LOST } from '../notes.ts';
import { hasFactorColumn, secondFactorOf } from '../second-factor.ts';
import type { Convert, ConvertOptions, ExportFormat, Fields, Format } from '../source.ts';
import { isPerhapsRegion } from '../state-names.ts';
import { fieldsIn, readState, type StateRules, withCommonRules } from '../states.ts';
import {
  boolAt,
  CONTEXT,
  fieldNames,
  firstBool,
  firstText,
  isSecretName,
  jsonAt,
  listAt,
  plainName,
  restOf,
  textAt,
} from '../values.ts';

/** JSON files alone; a table may be CSV as well, and has all formats unless it says otherwise. */
export const JSON_ONLY: readonly Format[] = ['json', 'ndjson'];
const ALL: readonly Format[] = ['json', 'ndjson', 'csv'];

/** What a function that reads a row may also need. */
export interface Around {
  /** The record before `row` was applied, with its empty cells. */
  record: Fields;
  /** The fields of the usual columns, if the table has them. */
  usual: Person;
}

type Read<T> = (row: Fields, around: Around) => T;
/** A column, or a path of JSON such as `name.given`; of several, the first that has a value; or a function. */
type Column<T> = string | readonly string[] | Read<T>;
type Columns = { [Field in Exclude<keyof Person, 'metadata' | 'links' | 'notes' | 'state'>]?: Column<Person[Field]> };

/** A column that lists the user's accounts at providers, and the columns of each account. */
interface Accounts {
  list: string;
  provider: readonly string[];
  id: readonly string[];
  /** The provider of the system's own accounts, which are no links. */
  own?: string;
}

export interface Table extends Omit<ExportFormat, 'formats' | 'recognizes' | 'explain' | 'converter' | 'fields'> {
  readonly formats?: readonly Format[];
  /** Columns that only this system has together; or how certain it is, from 0 to 1. */
  readonly recognizes: readonly string[] | ((record: Fields, format: Format) => number | boolean);
  /** Rows of a database's table: cells without a value are absent, and columns with `false` or 0 become metadata. */
  readonly isDatabase?: boolean;
  /** A database's table that also has the columns of `usualColumns`. */
  readonly hasUsualColumns?: boolean;
  /** Prepares a record, for tables whose columns have no fixed names. */
  readonly row?: (record: Fields) => Fields;
  /** Where the states are, if not in the record itself. */
  readonly stateRow?: (record: Fields) => Fields;
  /** The reason why a record is no user to import. */
  readonly skip?: Read<string | undefined>;
  /** Fields of the record that say whether the user may sign in; fields with common names are read besides. */
  readonly states?: StateRules;
  /** Fields with common names of a state that `parts` reads, in plain spelling, separated by blanks. */
  readonly ownStates?: string;
  readonly columns: Columns;
  /** What needs several columns, such as a hash with its salt; notes of all parts are collected. */
  readonly parts?: readonly Read<Partial<Person>>[] | ((options: ConvertOptions) => readonly Read<Partial<Person>>[]);
  readonly links?: Accounts | Read<ProviderLink[]>;
  /** How the user signed in there, from the row and what was read of it. */
  readonly signIn?: (row: Fields, person: Person) => OldSignIn | undefined;
  /** Columns of objects whose properties become metadata. */
  readonly spread?: readonly string[];
  /** Names of columns that do not become metadata: those without use, and those that only functions read. */
  readonly dropped?: string;
  /** The metadata, where it is more than the columns that are left. */
  readonly metadata?: (row: Fields, rest: Fields, around: Around) => Fields;
}

export function tableSource(table: Table): ExportFormat {
  const { recognizes } = table;
  const { name, title, formats = ALL, jsonPaths, csvColumns, hashFile, hashConfig, missing } = table;
  return {
    name,
    title,
    formats,
    ...(jsonPaths && { jsonPaths }),
    ...(csvColumns && { csvColumns }),
    ...(hashFile && { hashFile }),
    ...(hashConfig !== undefined && { hashConfig }),
    ...(missing && { missing }),
    recognizes: (record, format) =>
      Number(
        typeof recognizes === 'function'
          ? recognizes(record, format)
          : recognizes.every((column) => Object.hasOwn(record, column)),
      ),
    explain: (record) => unreadStates(table, record),
    fields: { isTable: true, ...(table.stateRow && { row: table.stateRow }), isRead: isReadBy(table) },
    ...(table.mayBePlain && { mayBePlain: true }),
    converter: (options) => converterOf(table, options),
  };
}

function converterOf(table: Table, options: ConvertOptions): Convert {
  const { hasUsualColumns = false, isDatabase = hasUsualColumns, links, spread = [] } = table;
  const { stateRow = (record: Fields) => record } = table;
  const { row: rowOf = isDatabase ? filledCells : (record: Fields) => record } = table;
  const parts = typeof table.parts === 'function' ? table.parts(options) : (table.parts ?? []);
  const known = knownColumns(table);
  const readers = readersOf(table.columns);
  const rulesFor = rulesOf(table, known);
  const readsFactor = hasFactorColumn(known) || 'totp' in table.columns;
  const now = Date.now();
  return (record) => {
    const row = rowOf(record);
    const around = { record, usual: hasUsualColumns ? usualColumns(row) : {} };
    const read = readState(stateRow(record), rulesFor(stateRow(record)), now);
    const skip = table.skip?.(row, around) ?? read.skip;
    if (skip !== undefined) return { skip };
    const made = parts.map((part) => part(row, around));
    const isFactorRead = readsFactor || made.some(hasFactor);
    if (!isFactorRead) made.push(factorOf(row));
    const rest = isDatabase ? otherColumns(row, known) : restOf(row, known);
    const linked = typeof links === 'function' ? links(row, around) : links && linksOf(row, links);
    const person = Object.assign(
      {},
      around.usual,
      fieldsOf(row, readers, around),
      ...made,
      linked && { links: linked },
      {
        metadata:
          table.metadata?.(row, rest, around) ??
          Object.assign({}, ...spread.map((column) => jsonAt(row, column)), rest),
        notes: [...read.notes, ...made.flatMap(({ notes = [] }) => notes)],
        ...stateOf([read.state, ...made.map(({ state }) => state)]),
      },
    );
    return table.signIn ? { ...person, oldSignIn: table.signIn(row, person) } : person;
  };
}

/** Whether a part has read a second factor, or found that it is lost. */
function hasFactor({ totp, totps, otpEmail, otpSms, notes = [] }: Partial<Person>): boolean {
  const isFound = totp !== undefined || totps !== undefined || otpEmail === true || otpSms === true;
  return isFound || notes.includes(SECOND_FACTOR_LOST);
}

/** A second factor in columns with common names. */
function factorOf(row: Fields): Partial<Person> {
  const { totp, notes } = secondFactorOf(row);
  return { ...(totp === undefined ? {} : { totp }), notes: [...notes] };
}

/** The table's own states, and those of fields with common names that it does not read as something else. */
function rulesOf({ states = {}, ownStates = '' }: Table, known: ReadonlySet<string>): (row: Fields) => StateRules {
  const read = fieldNames(ownStates);
  return withCommonRules(states, (name) => !known.has(name) && !read.has(plainName(name)));
}

/** Whether the table reads a column, or leaves it out on purpose. */
function isReadBy(table: Table): (name: string) => boolean {
  const known = knownColumns(table);
  const own = fieldNames(table.ownStates ?? '');
  const states = new Set(fieldsIn(table.states ?? {}));
  const isUsual = (name: string) => table.hasUsualColumns === true && TAKEN.has(name);
  return (name) => known.has(name) || own.has(plainName(name)) || states.has(name) || isUsual(name);
}

/** Warns of fields that look like a state, and are read as a part of the address. */
function unreadStates(table: Table, record: Fields): string[] {
  const { stateRow = (row: Fields) => row } = table;
  const row = stateRow(record);
  const isRead = isReadBy(table);
  const names = Object.keys(row);
  return names
    .filter((name) => !isRead(name) && isPerhapsRegion(name, names))
    .map((name) => `  warning: ${name} may be a state of the user; it is read as a part of the address`);
}

/** The strictest of the states, if there is one: whoever is inactive stays so, whatever else is said of them. */
function stateOf(states: readonly Person['state'][]): Pick<Person, 'state'> {
  const state = (['inactive', 'locked'] as const).find((one) => states.includes(one));
  return state === undefined ? {} : { state };
}

function knownColumns({ columns, links, spread = [], dropped = '' }: Table): ReadonlySet<string> {
  const read = Object.values(columns).filter((column) => typeof column !== 'function');
  return new Set([
    ...fieldNames(dropped),
    ...read.flat().map((column) => headOf(column)),
    ...(typeof links === 'object' ? [links.list] : []),
    ...spread,
  ]);
}

function headOf(column: string): string {
  return column.split('.', 1)[0] as string;
}

const FLAGS = ['emailVerified', 'phoneVerified', 'passwordChangeRequired'];

type Readers = readonly (readonly [field: string, read: Read<unknown>])[];

/** Made once for all rows. */
function readersOf(columns: Columns): Readers {
  return Object.entries(columns).map(([field, column]: [string, Column<unknown>]) => {
    if (typeof column === 'function') return [field, column] as const;
    return [field, readerOf([column].flat(), FLAGS.includes(field) ? boolAt : textAt)] as const;
  });
}

function readerOf(names: readonly string[], read: (record: Fields, key: string) => unknown): Read<unknown> {
  const paths = names.map((name) => name.split('.')).map((path) => ({ above: path, last: path.pop() as string }));
  return (row) => {
    for (const { above, last } of paths) {
      const value = read(above.reduce(jsonAt, row), last);
      if (value !== undefined) return value;
    }
    return undefined;
  };
}

function fieldsOf(row: Fields, readers: Readers, around: Around): Fields {
  const fields: Fields = {};
  for (const [field, read] of readers) fields[field] = read(row, around);
  return fields;
}

function linksOf(row: Fields, { list, provider, id, own }: Accounts): ProviderLink[] {
  return listAt(row, list).flatMap((account) => {
    const [name, externalUserId] = [firstText(account, provider), firstText(account, id)];
    const isLink = name !== undefined && name !== own && externalUserId !== undefined;
    return isLink ? [{ provider: name, externalUserId }] : [];
  });
}

/** A user with `true` in one of these columns has a second factor that the export does not hold. */
export function factorLostIf(...columns: string[]): Read<Partial<Person>> {
  return (row) => ({ notes: firstBool(row, columns) === true ? [SECOND_FACTOR_LOST] : [] });
}

/** Whether a column holds the date of a verification; undefined for a table without the column. */
export function verifiedOn(column: string): Read<boolean | undefined> {
  return (row, { record }) => (Object.hasOwn(record, column) ? isDated(row, column) : undefined);
}

/** The address, or a user name that has the form of one. */
export function emailOrName(_row: Fields, { usual }: Around): string | undefined {
  return usual.email ?? (usual.userName?.includes('@') ? usual.userName : undefined);
}

/** Whether a date column holds a date; `0000-00-00 00:00:00` is not one. */
export function isDated(row: Fields, column: string): boolean {
  return /[1-9]/.test(textAt(row, column) ?? '');
}

/** What programs that export tables write for null. */
const NULLS: readonly unknown[] = [null, undefined, '', 'NULL', '\\N'];

export function isNull(value: unknown): boolean {
  return NULLS.includes(value);
}

/** The row without empty cells. */
function filledCells(record: Fields): Fields {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => !isNull(value)));
}

/** Columns that the user tables of many web applications have, and their usual names. */
const USUAL = {
  userName: ['username', 'user_name', 'login'],
  firstName: ['first_name', 'firstname', 'given_name'],
  lastName: ['last_name', 'lastname', 'surname', 'family_name'],
  displayName: ['display_name', 'full_name', 'name'],
  nickName: ['nickname'],
  language: ['locale', 'language', 'preferred_language'],
  phone: ['phone', 'phone_number', 'mobile', 'mobile_number', 'telephone'],
} as const;
const PHONE_VERIFIED = ['phone_verified_at', 'phone_confirmed_at'];
const PROVIDER_IDS = ['uid', 'provider_id', 'provider_user_id'];
/** Columns such as `google_id`. */
const PROVIDERS = ['apple', 'facebook', 'github', 'gitlab', 'google', 'linkedin', 'microsoft', 'twitter'];
const BOOKKEEPING = ['created_at', 'updated_at', 'last_login_at', 'last_login_ip', 'last_seen_at'];

const TAKEN: ReadonlySet<string> = new Set([
  CONTEXT,
  'id',
  'email',
  'provider',
  'deleted_at',
  ...PROVIDER_IDS,
  ...PHONE_VERIFIED,
  ...BOOKKEEPING,
  ...Object.values(USUAL).flat(),
  ...PROVIDERS.map((name) => `${name}_id`),
]);

const USUAL_READERS = readersOf({ ...USUAL, userId: 'id', email: 'email' });

function usualColumns(row: Fields): Person {
  const phoneDate = PHONE_VERIFIED.find((column) => Object.hasOwn(row, column));
  return {
    ...fieldsOf(row, USUAL_READERS, { record: row, usual: {} }),
    phoneVerified: phoneDate === undefined ? undefined : isDated(row, phoneDate),
    links: usualLinks(row),
  };
}

function usualLinks(row: Fields): ProviderLink[] {
  const ids = PROVIDERS.map((name) => ({ provider: name, id: textAt(row, `${name}_id`) }));
  return [{ provider: textAt(row, 'provider'), id: firstText(row, PROVIDER_IDS) }, ...ids].flatMap(
    ({ provider, id }) =>
      // `email` means that the user signs in with address and password, not with a provider.
      provider === undefined || provider === 'email' || id === undefined ? [] : [{ provider, externalUserId: id }],
  );
}

/** The application's own columns. */
function otherColumns(row: Fields, known: ReadonlySet<string>): Fields {
  return Object.fromEntries(
    Object.entries(row).filter(([name]) => !TAKEN.has(name) && !known.has(name) && !isSecretName(name)),
  );
}
