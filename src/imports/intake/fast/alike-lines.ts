/**
 * Writes the line of COPY of a common entry from the bytes of its values, without a string or an object for it. See
 * README.md.
 *
 * Guarantee: writes exactly the line that `toItem` and `copyLine` make of the entry, or none; then they have to. The
 * values have no escape and no control character, so COPY takes them as they are.
 */
import { hashProblem } from '../../../passwords/registry.ts';
import { GENDERS, nameKey } from '../../../platform/fields.ts';
import { unseenProblem } from '../../../platform/text/visible.ts';
import type { CopyRows } from '../../entries/copy-rows.ts';
import { type DuplicateFilter, ID, NAME } from '../../entries/duplicate-filter.ts';
import { FACT, RELAY, USUAL, withPhone } from '../../entries/facts.ts';
import { userStateOf } from '../../entries/item.ts';
import type { ShapedEntries } from '../../entries/parser.ts';
import { FIELDS, MARKS_BEFORE_VALUES } from './alike-entries.ts';
import { isShortEmail, isShortId, isShortLanguage, SHORT_BYTES, writePlainKey } from './bytes.ts';

/** The most bytes of a line: each text has at most SHORT_BYTES, the hash a thousand, and a key thrice its text's. */
const MOST_LINE_BYTES = 20 * SHORT_BYTES + 1000;
const [TAB, NEWLINE, SPACE, T, F] = [0x09, 0x0a, 0x20, 0x74, 0x66];
const ACTIVE = Buffer.from('active');
const RELAY_BYTES = Buffer.from(RELAY);
const PENDING = Buffer.from('\tpending\t');
const NULL = Buffer.from('\t\\N');
const NO_ERROR = Buffer.from('\t\\N\t');

const place = (path: (typeof FIELDS)[number]) => FIELDS.indexOf(path);

/** The number of each field in FIELDS. */
const FIELD = {
  userId: place('userId'),
  state: place('state'),
  userName: place('user.userName'),
  firstName: place('user.profile.firstName'),
  lastName: place('user.profile.lastName'),
  nickName: place('user.profile.nickName'),
  displayName: place('user.profile.displayName'),
  language: place('user.profile.preferredLanguage'),
  gender: place('user.profile.gender'),
  email: place('user.email.email'),
  emailVerified: place('user.email.isEmailVerified'),
  phone: place('user.phone.phone'),
  phoneVerified: place('user.phone.isPhoneVerified'),
  hash: place('user.hashedPassword.value'),
  changeRequired: place('user.passwordChangeRequired'),
};

export class ShapedLines {
  private readonly rows: CopyRows;
  private readonly entry = new EntryCursor();
  private head = Buffer.alloc(0);

  // Where parts of the latest line are in the bytes of the rows:
  private duplicateAt = 0;
  private idStart = 0;
  private idEnd = 0;
  private keyStart = 0;
  private keyEnd = 0;
  private emailKeyStart = 0;
  private emailKeyEnd = 0;
  private state: ReturnType<typeof userStateOf>;
  /** The hash of the latest line's password. */
  hash: string | undefined;
  /** The facts of the latest line's user; null: a usual one. */
  facts: number | null = null;

  constructor(rows: CopyRows) {
    this.rows = rows;
  }

  /** Before the first line. */
  begin(importId: string): void {
    this.head = Buffer.from(`${importId}\t`);
  }

  /** Writes the line of the entry whose marks begin at `at`; false, and no line, if it is not a common one. */
  add(shaped: ShapedEntries, at: number, ordinal: number, org: number): boolean {
    const { rows } = this;
    this.entry.moveTo(shaped, at);
    rows.reserve(MOST_LINE_BYTES);
    const start = rows.length;
    rows.addBytes(this.head, 0, this.head.length);
    rows.addNumber(ordinal);
    rows.addByte(TAB);
    rows.addNumber(org);
    rows.addByte(TAB);
    this.duplicateAt = rows.length;
    rows.addByte(F);
    if (this.addIdentity() && this.addProfile() && this.addContact() && this.addPassword()) return true;
    rows.cut(start);
    return false;
  }

  /** Adds id and user name of the latest line to the filter; returns whether one of them may have been there before. */
  markDuplicate(filter: DuplicateFilter): boolean {
    const { bytes } = this.rows;
    const id = filter.addBytes(bytes, this.idStart, this.idEnd, ID);
    const name = filter.addBytes(bytes, this.keyStart, this.keyEnd, NAME);
    if (id || name) bytes[this.duplicateAt] = T;
    return id || name;
  }

  /** From the state to the user's state. */
  private addIdentity(): boolean {
    const { rows, entry } = this;
    const [from, to] = [entry.from(FIELD.userId), entry.to(FIELD.userId)];
    if (!isShortId(entry.bytes, from, to)) return false;
    rows.addBytes(PENDING, 0, PENDING.length);
    this.idStart = rows.length;
    rows.addBytes(entry.bytes, from, to);
    this.idEnd = rows.length;
    const name = entry.has(FIELD.userName) ? FIELD.userName : FIELD.email;
    if (!this.addText(name, 1)) return false;
    rows.addBytes(NO_ERROR, 0, NO_ERROR.length);
    this.keyStart = rows.length;
    if (!this.addKey(name)) return false;
    this.keyEnd = rows.length;
    rows.addByte(TAB);
    return this.addState();
  }

  private addState(): boolean {
    const { rows } = this;
    if (!this.entry.has(FIELD.state)) {
      this.state = 'active';
      rows.addBytes(ACTIVE, 0, ACTIVE.length);
      return true;
    }
    const state = this.entry.text(FIELD.state);
    const stored = userStateOf(state);
    if (stored === undefined) return false;
    this.state = stored;
    rows.add(stored);
    return true;
  }

  /** From the given name to the gender. */
  private addProfile(): boolean {
    const { rows, entry } = this;
    if (!this.addText(FIELD.firstName, 1) || !this.addText(FIELD.lastName, 1)) return false;
    if (!this.addText(FIELD.nickName) || !this.addDisplayName()) return false;
    const [from, to] = [entry.from(FIELD.language), entry.to(FIELD.language)];
    if (to > from && !isShortLanguage(entry.bytes, from, to)) return false;
    rows.addByte(TAB);
    rows.addBytes(entry.bytes, from, to);
    const gender = entry.has(FIELD.gender) ? (GENDERS as readonly string[]).indexOf(entry.text(FIELD.gender)) : 0;
    if (gender < 0) return false;
    rows.addByte(TAB);
    rows.addNumber(gender);
    return true;
  }

  private addDisplayName(): boolean {
    const { rows, entry } = this;
    if (entry.to(FIELD.displayName) > entry.from(FIELD.displayName)) return this.addText(FIELD.displayName);
    const start = rows.length;
    rows.addByte(TAB);
    rows.addBytes(entry.bytes, entry.from(FIELD.firstName), entry.to(FIELD.firstName));
    rows.addByte(SPACE);
    rows.addBytes(entry.bytes, entry.from(FIELD.lastName), entry.to(FIELD.lastName));
    return rows.length - start <= SHORT_BYTES;
  }

  /** From the address to the phone. */
  private addContact(): boolean {
    const { rows, entry } = this;
    const [from, to] = [entry.from(FIELD.email), entry.to(FIELD.email)];
    if (!isShortEmail(entry.bytes, from, to)) return false;
    this.addText(FIELD.email);
    rows.addByte(TAB);
    this.emailKeyStart = rows.length;
    if (!entry.has(FIELD.userName)) rows.addBytes(rows.bytes, this.keyStart, this.keyEnd);
    else if (!this.addKey(FIELD.email)) return false;
    this.emailKeyEnd = rows.length;
    this.addFlag(FIELD.emailVerified);
    if (!entry.has(FIELD.phone)) rows.addBytes(NULL, 0, NULL.length);
    else if (!this.addText(FIELD.phone, 1)) return false;
    this.addFlag(FIELD.phoneVerified);
    return true;
  }

  /** From the hash to the end of the line. */
  private addPassword(): boolean {
    const { rows, entry } = this;
    this.hash = undefined;
    if (entry.has(FIELD.hash)) {
      this.hash = entry.text(FIELD.hash);
      if (hashProblem(this.hash) !== undefined) return false;
      rows.addByte(TAB);
      rows.addBytes(entry.bytes, entry.from(FIELD.hash), entry.to(FIELD.hash));
    } else rows.addBytes(NULL, 0, NULL.length);
    rows.addBytes(NULL, 0, NULL.length);
    rows.addBytes(NULL, 0, NULL.length);
    this.addFlag(FIELD.changeRequired);
    rows.addBytes(NULL, 0, NULL.length);
    rows.addBytes(NULL, 0, NULL.length);
    this.addFacts();
    // An entry with links is none of these.
    rows.addBytes(NULL, 0, NULL.length);
    rows.addByte(NEWLINE);
    return true;
  }

  /** Adds what `itemFacts` says of the item. */
  private addFacts(): void {
    const { rows, state, hash } = this;
    const isVerified = this.flag(FIELD.emailVerified);
    let facts: number = FACT.address;
    if (hash !== undefined) facts |= FACT.password;
    if (state === 'active' && !(hash !== undefined && isVerified)) facts |= FACT.mailDue;
    if (state === 'inactive') facts |= FACT.inactive;
    if (state === 'locked') facts |= FACT.locked;
    if (!isVerified) facts |= FACT.unverified;
    if (!isVerified && !this.isNamedByEmail()) facts |= FACT.typesUserName;
    if (this.isRelay()) facts |= FACT.relay;
    if (this.flag(FIELD.changeRequired)) facts |= FACT.changeRequired;
    if (this.flag(FIELD.phoneVerified) && facts !== USUAL) facts = this.withPhone(facts);
    this.facts = facts === USUAL ? null : facts;
    if (this.facts === null) rows.addBytes(NULL, 0, NULL.length);
    else {
      rows.addByte(TAB);
      rows.addNumber(facts);
    }
  }

  private withPhone(facts: number): number {
    const phone = this.entry.has(FIELD.phone) ? this.entry.text(FIELD.phone) : null;
    return withPhone(facts, { phone, phoneVerified: true });
  }

  private isNamedByEmail(): boolean {
    const { rows, keyStart, keyEnd, emailKeyStart, emailKeyEnd } = this;
    return rows.bytes.compare(rows.bytes, keyStart, keyEnd, emailKeyStart, emailKeyEnd) === 0;
  }

  private isRelay(): boolean {
    const { rows, emailKeyEnd } = this;
    const from = emailKeyEnd - RELAY_BYTES.length;
    if (from < this.emailKeyStart || rows.bytes[from] !== RELAY_BYTES[0]) return false;
    return rows.bytes.compare(RELAY_BYTES, 0, RELAY_BYTES.length, from, emailKeyEnd) === 0;
  }

  /** Adds a text, which may be absent, and the tab before it; false if it is too short or perhaps too long. */
  private addText(field: number, least = 0): boolean {
    const [from, to] = [this.entry.from(field), this.entry.to(field)];
    if (to - from < least || to - from > SHORT_BYTES) return false;
    this.rows.addByte(TAB);
    this.rows.addBytes(this.entry.bytes, from, to);
    return true;
  }

  /** Adds the key of a name; false if it has characters that nobody sees. */
  private addKey(field: number): boolean {
    const { rows, entry } = this;
    const end = writePlainKey(entry.bytes, entry.from(field), entry.to(field), rows.bytes, rows.length);
    if (end >= 0) {
      rows.extend(end);
      return true;
    }
    const text = entry.text(field);
    if (unseenProblem(text) !== undefined) return false;
    rows.add(nameKey(text));
    return true;
  }

  private addFlag(field: number): void {
    this.rows.addByte(TAB);
    this.rows.addByte(this.flag(field) ? T : F);
  }

  private flag(field: number): boolean {
    return this.entry.has(field) && this.entry.bytes[this.entry.from(field)] === T;
  }
}

/** Reads the values of one found entry, by field. */
class EntryCursor {
  bytes: Buffer = Buffer.alloc(0);
  private places: readonly number[] = [];
  private marks: readonly number[] = [];
  private first = 0;

  /** @param at where the marks of the entry begin */
  moveTo({ bytes, layouts, marks }: ShapedEntries, at: number): void {
    this.bytes = bytes;
    this.marks = marks;
    this.places = (layouts[marks[at] as number] as ShapedEntries['layouts'][number]).places;
    this.first = at + MARKS_BEFORE_VALUES;
  }

  has(field: number): boolean {
    return (this.places[field] as number) >= 0;
  }

  /** Where the value begins in `bytes`; 0, as is `to`, if the entry has none. */
  from(field: number): number {
    const at = this.places[field] as number;
    return at < 0 ? 0 : (this.marks[this.first + 2 * at] as number);
  }

  to(field: number): number {
    const at = this.places[field] as number;
    return at < 0 ? 0 : (this.marks[this.first + 2 * at + 1] as number);
  }

  text(field: number): string {
    return this.bytes.toString('utf8', this.from(field), this.to(field));
  }
}
