/**
 * What the reader of a known system does not know of its records: fields that the system's documentation does not have,
 * and whose names or values may say a state; and plain passwords that nobody chose.
 *
 * Guarantee: fails closed. A column of a table that may be a state, differs between users and cannot be understood stops
 * the command, as in a file of one's own; `--map` says what it means. Where records are read once, as those of an API, such
 * a value makes its user inactive, with a note.
 */
import type { Person, Skipped } from './entry.ts';
import { withoutNullWords } from './null-words.ts';
import { UsageError } from './read/records.ts';
import type { Convert, ConvertOptions, ExportFormat, Fields, Survey } from './source.ts';
import { isOfElse, isPerhapsRegion, type NameMeaning } from './state-names.ts';
import { COMMON_WORDS, readState, type StateRules, stateMeaning } from './states.ts';
import { noColumn, openPasswordCheck, openUnclearCheck, requireSense } from './survey.ts';
import { CONTEXT, KEY, valueAt } from './values.ts';

/** What `--map` can say of a system's fields. */
const OF_STATES = { enabled: 'active', disabled: 'inactive', locked: 'locked', deleted: 'deleted' } as const;
type StateField = keyof typeof OF_STATES | 'state';

/** @throws UsageError when `--map` names a field that the source itself reads, and would not take from elsewhere */
export function requireMappable({ title, survey }: ExportFormat, { map = {} }: ConvertOptions): void {
  const field = survey ? undefined : Object.keys(map).find((one) => !isSystemField(one));
  if (field === undefined) return;
  throw new UsageError(
    `--map ${field}: ${title} says itself which column that is. Use --map for what says a state, such as ` +
      'disabled=COLUMN; --from csv or ndjson takes all fields.',
  );
}

/** Whether `--map` can say it of a known system's fields; its reader knows all others. */
function isSystemField(field: string): boolean {
  return SYSTEM_FIELDS.has(field) || Object.hasOwn(OF_STATES, field) || field.startsWith('metadata.');
}

const SYSTEM_FIELDS = new Set(['state', 'password', 'initialPassword', 'salt', 'iterations']);

interface Given {
  columns: Partial<Record<StateField, string>>;
  /** Columns that are metadata, or whose meaning is given. */
  taken: ReadonlySet<string>;
  leavesStatesOut: boolean;
  password: 'kept' | 'left out' | 'initial';
}

/** @throws UsageError */
function givenOf(source: ExportFormat, options: ConvertOptions): Given {
  requireMappable(source, options);
  const { map = {} } = options;
  const fields = Object.entries(map);
  const columns = fields.filter(
    ([field, column]) => column !== '' && (field === 'state' || Object.hasOwn(OF_STATES, field)),
  );
  const metadata = fields.filter(([field]) => field.startsWith('metadata.'));
  return {
    columns: Object.fromEntries(columns),
    taken: new Set([...columns, ...metadata].map(([, column]) => column)),
    leavesStatesOut: map.state === '',
    password: map.initialPassword ? 'initial' : map.password === '' ? 'left out' : 'kept',
  };
}

/** Columns with unclear names that nothing reads, and others that say nothing. */
interface Unread {
  unclear: [path: string, meaning: NameMeaning][];
  others: string[];
}

function unreadIn({ fields }: ExportFormat, row: Fields, { taken, leavesStatesOut }: Given): Unread {
  if (leavesStatesOut) return { unclear: [], others: [] };
  const names = Object.keys(row).filter(
    (name) => name !== CONTEXT && name !== KEY && !taken.has(name) && fields?.isRead(name) !== true,
  );
  const unclear = names.flatMap((name): [string, NameMeaning][] => {
    const meaning = stateMeaning(name);
    return meaning?.startsWith('perhaps') ? [[name, meaning]] : [];
  });
  const others = fields?.isTable ? names.filter((name) => stateMeaning(name) === undefined && !isOfElse(name)) : [];
  return { unclear, others };
}

const NOTHING_GIVEN: Given = { columns: {}, taken: new Set(), leavesStatesOut: false, password: 'kept' };

/** The columns of a known system's table that its reader does not know, and whose names may say a state. */
export function unclearColumns(source: ExportFormat, names: readonly string[]): string[] {
  if (source.survey || !source.fields?.isTable) return [];
  const row = Object.fromEntries(names.map((name) => [name, '']));
  return unreadIn(source, row, NOTHING_GIVEN).unclear.map(([name]) => name);
}

/** A first reading of a system's records; undefined where none is needed. @param isRead they are read before anyway */
export function systemSurvey(source: ExportFormat, options: ConvertOptions, isRead: boolean): Survey | undefined {
  const given = givenOf(source, options);
  const isNamed = Object.keys(given.columns).length > 0;
  if (!isRead && !source.fields?.isTable && !source.mayBePlain && !isNamed) return undefined;
  requireSense(given);
  const rowOf = source.fields?.row ?? ((record: Fields) => record);
  const missing = new Map(Object.entries(given.columns).map(([field, column]) => [column, field]));
  const names = new Set<string>();
  const states = openUnclearCheck((row) => unreadIn(source, row, given).unclear, { mustDiffer: true });
  const passwords = openPasswordCheck('The plain passwords', {
    hashed: 'Use --map password= to leave them out.',
    meant:
      'Use --map password= to leave them out, so that every user gets a mail to set a password; if it is meant, use --map initialPassword=password, which each user must change at the first sign-in.',
  });
  const convert = source.mayBePlain && given.password === 'kept' ? source.converter(options) : undefined;
  return {
    see(record) {
      const row = rowOf(record);
      for (const column of missing.keys()) if (valueAt(row, column) !== undefined) missing.delete(column);
      if (missing.size > 0) for (const name of Object.keys(row)) names.add(name);
      states.see(withoutNullWords(row));
      const person = convert?.(withoutNullWords(record));
      if (!person || 'skip' in person) return;
      passwords.see(person.password);
      if (person.password === undefined && person.hash !== undefined) passwords.seeHash();
    },
    converter() {
      const [first] = missing;
      if (first && names.size > 0) throw noColumn(first, names);
      passwords.require();
      states.states();
      return systemConverter(source, options, states.constants());
    },
  };
}

/**
 * The converter of a system, with the checks of fields that its reader does not know.
 * @param constants columns with unclear names that have one value for all, and so say nothing
 */
export function systemConverter(
  source: ExportFormat,
  options: ConvertOptions,
  constants: readonly string[] = [],
): Convert {
  const given = givenOf(source, options);
  const convert = source.converter(options);
  const rowOf = source.fields?.row ?? ((record: Fields) => record);
  let shape = '';
  let rules: StateRules = {};
  return (record) => {
    const person = convert(record);
    if ('skip' in person) return person;
    const row = rowOf(record);
    const next = Object.keys(row).join('\n');
    if (next !== shape) rules = rulesOf(unreadIn(source, row, given), given, { row, constants });
    shape = next;
    return withPassword(withState(person, row, rules), given);
  };
}

function rulesOf(
  { unclear, others }: Unread,
  { columns, taken, leavesStatesOut }: Given,
  { row, constants }: { row: Fields; constants: readonly string[] },
): StateRules {
  const named = Object.entries(OF_STATES).map(([field, meaning]): [string, string[]] => {
    const column = columns[field as StateField];
    return [meaning, column === undefined ? [] : [column]];
  });
  const names = Object.keys(row);
  // Read as a part of the address; a word for a state is none.
  const regions = leavesStatesOut ? [] : names.filter((name) => !taken.has(name) && isPerhapsRegion(name, names));
  return {
    ...Object.fromEntries(named),
    words: columns.state === undefined ? [] : [{ field: columns.state, ...COMMON_WORDS }],
    unclear: [...unclear.map(([name]) => name).filter((name) => !constants.includes(name)), ...regions],
    others,
  };
}

const STRICTEST = ['inactive', 'locked'] as const;

function withState(person: Person, row: Fields, rules: StateRules): Person | Skipped {
  const { state, skip, notes } = readState(row, rules);
  if (skip !== undefined) return { skip };
  if (state === undefined && notes.length === 0) return person;
  const strictest = STRICTEST.find((one) => one === state || one === person.state);
  return {
    ...person,
    ...(strictest === undefined ? {} : { state: strictest }),
    notes: [...(person.notes ?? []), ...notes],
  };
}

function withPassword(person: Person | Skipped, { password: use }: Given): Person | Skipped {
  if (use === 'kept' || 'skip' in person || person.password === undefined) return person;
  const { password, ...rest } = person;
  return use === 'initial' ? { ...rest, initialPassword: password } : rest;
}
