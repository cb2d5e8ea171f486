/**
 * Writes the line of COPY of a common entry from the bytes of its values, without a string or an object for it.
 *
 * Guarantee: writes exactly the line that `toItem` and `copyLine` make of the entry (a property test compares the two),
 * or none; then they have to. The values have no escape and no control character, so COPY takes them as they are.
 */
import { isShortEmail, isShortId, isShortLanguage, SHORT_BYTES } from '../../fields/bytes.ts';
import { GENDERS, nameKey } from '../../fields/fields.ts';
import { hashProblem } from '../../passwords/registry.ts';
import { FIELDS, type Layout } from '../parse/entry-layout.ts';
import { MARKS_BEFORE_VALUES, type ShapedEntries } from '../parse/entry-shapes.ts';
import { STATES } from '../validate/fast-path.ts';
import type { CopyRows } from './copy-rows.ts';
import { type DuplicateFilter, ID, NAME } from './duplicates.ts';

const place = (path: (typeof FIELDS)[number]) => FIELDS.indexOf(path);
const USER_ID = place('userId');
const STATE = place('state');
const USER_NAME = place('user.userName');
const FIRST_NAME = place('user.profile.firstName');
const LAST_NAME = place('user.profile.lastName');
const NICK_NAME = place('user.profile.nickName');
const DISPLAY_NAME = place('user.profile.displayName');
const LANGUAGE = place('user.profile.preferredLanguage');
const GENDER = place('user.profile.gender');
const EMAIL = place('user.email.email');
const EMAIL_VERIFIED = place('user.email.isEmailVerified');
const PHONE = place('user.phone.phone');
const PHONE_VERIFIED = place('user.phone.isPhoneVerified');
const HASH = place('user.hashedPassword.value');
const CHANGE_REQUIRED = place('user.passwordChangeRequired');

/** The most bytes of a line: each text has at most SHORT_BYTES, the hash a thousand, and a key thrice its text's. */
const MOST_LINE_BYTES = 20 * SHORT_BYTES + 1000;
const [TAB, NEWLINE, SPACE, T, F] = [0x09, 0x0a, 0x20, 0x74, 0x66];
const ACTIVE = Buffer.from('active');
const PENDING = Buffer.from('\tpending\t');
const NULL = Buffer.from('\t\\N');
const NO_ERROR = Buffer.from('\t\\N\t');

export class ShapedLines {
  private readonly rows: CopyRows;
  private bytes: Buffer = Buffer.alloc(0);
  private places: readonly number[] = [];
  private marks: readonly number[] = [];
  private first = 0;
  private head = Buffer.alloc(0);

  // Of the latest line, where in the bytes of the rows:
  private duplicateAt = 0;
  private idStart = 0;
  private idEnd = 0;
  private keyStart = 0;
  private keyEnd = 0;
  /** The hash of the latest line's password. */
  hash: string | undefined;

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
    this.bytes = shaped.bytes;
    this.marks = shaped.marks;
    this.places = (shaped.layouts[shaped.marks[at] as number] as Layout).places;
    this.first = at + MARKS_BEFORE_VALUES;
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
    const { rows, bytes } = this;
    const [from, to] = [this.from(USER_ID), this.to(USER_ID)];
    if (!isShortId(bytes, from, to)) return false;
    rows.addBytes(PENDING, 0, PENDING.length);
    this.idStart = rows.length;
    rows.addBytes(bytes, from, to);
    this.idEnd = rows.length;
    const name = this.has(USER_NAME) ? USER_NAME : EMAIL;
    if (!this.addText(name, 1)) return false;
    rows.addBytes(NO_ERROR, 0, NO_ERROR.length);
    this.keyStart = rows.length;
    this.addKey(name);
    this.keyEnd = rows.length;
    rows.addByte(TAB);
    return this.addState();
  }

  private addState(): boolean {
    const { rows } = this;
    if (!this.has(STATE)) {
      rows.addBytes(ACTIVE, 0, ACTIVE.length);
      return true;
    }
    const state = this.text(STATE);
    const stored = Object.hasOwn(STATES, state) ? STATES[state] : undefined;
    if (stored === undefined) return false;
    rows.add(stored);
    return true;
  }

  /** From the given name to the gender. */
  private addProfile(): boolean {
    const { rows } = this;
    if (!this.addText(FIRST_NAME, 1) || !this.addText(LAST_NAME, 1) || !this.addText(NICK_NAME)) return false;
    if (!this.addDisplayName()) return false;
    const [from, to] = [this.from(LANGUAGE), this.to(LANGUAGE)];
    if (to > from && !isShortLanguage(this.bytes, from, to)) return false;
    rows.addByte(TAB);
    rows.addBytes(this.bytes, from, to);
    const gender = this.has(GENDER) ? (GENDERS as readonly string[]).indexOf(this.text(GENDER)) : 0;
    if (gender < 0) return false;
    rows.addByte(TAB);
    rows.addNumber(gender);
    return true;
  }

  private addDisplayName(): boolean {
    if (this.to(DISPLAY_NAME) > this.from(DISPLAY_NAME)) return this.addText(DISPLAY_NAME);
    const { rows, bytes } = this;
    const start = rows.length;
    rows.addByte(TAB);
    rows.addBytes(bytes, this.from(FIRST_NAME), this.to(FIRST_NAME));
    rows.addByte(SPACE);
    rows.addBytes(bytes, this.from(LAST_NAME), this.to(LAST_NAME));
    return rows.length - start <= SHORT_BYTES;
  }

  /** From the address to the phone. */
  private addContact(): boolean {
    const { rows, bytes } = this;
    const [from, to] = [this.from(EMAIL), this.to(EMAIL)];
    if (!isShortEmail(bytes, from, to)) return false;
    this.addText(EMAIL);
    rows.addByte(TAB);
    this.addKey(EMAIL);
    this.addFlag(EMAIL_VERIFIED);
    if (!this.has(PHONE)) rows.addBytes(NULL, 0, NULL.length);
    else if (!this.addText(PHONE, 1)) return false;
    this.addFlag(PHONE_VERIFIED);
    return true;
  }

  /** From the hash to the end of the line. */
  private addPassword(): boolean {
    const { rows, bytes } = this;
    this.hash = undefined;
    if (this.has(HASH)) {
      this.hash = this.text(HASH);
      if (hashProblem(this.hash) !== undefined) return false;
      rows.addByte(TAB);
      rows.addBytes(bytes, this.from(HASH), this.to(HASH));
    } else rows.addBytes(NULL, 0, NULL.length);
    rows.addBytes(NULL, 0, NULL.length);
    rows.addBytes(NULL, 0, NULL.length);
    this.addFlag(CHANGE_REQUIRED);
    rows.addBytes(NULL, 0, NULL.length);
    rows.addBytes(NULL, 0, NULL.length);
    rows.addByte(NEWLINE);
    return true;
  }

  /** Adds a text, which may be absent, and the tab before it; false if it is too short or perhaps too long. */
  private addText(field: number, least = 0): boolean {
    const [from, to] = [this.from(field), this.to(field)];
    if (to - from < least || to - from > SHORT_BYTES) return false;
    this.rows.addByte(TAB);
    this.rows.addBytes(this.bytes, from, to);
    return true;
  }

  private addKey(field: number): void {
    const { rows, bytes } = this;
    if (rows.addLowerCase(bytes, this.from(field), this.to(field))) return;
    rows.add(nameKey(this.text(field)));
  }

  private addFlag(field: number): void {
    this.rows.addByte(TAB);
    this.rows.addByte(this.has(field) && this.bytes[this.from(field)] === T ? T : F);
  }

  private has(field: number): boolean {
    return (this.places[field] as number) >= 0;
  }

  private from(field: number): number {
    const at = this.places[field] as number;
    return at < 0 ? 0 : (this.marks[this.first + 2 * at] as number);
  }

  private to(field: number): number {
    const at = this.places[field] as number;
    return at < 0 ? 0 : (this.marks[this.first + 2 * at + 1] as number);
  }

  private text(field: number): string {
    return this.bytes.toString('utf8', this.from(field), this.to(field));
  }
}
