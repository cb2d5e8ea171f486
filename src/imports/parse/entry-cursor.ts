/** Reads the values of one entry among those that entry-shapes.ts has found, by field. */
import { FIELDS, type Layout } from './entry-layout.ts';
import { MARKS_BEFORE_VALUES, type ShapedEntries } from './entry-shapes.ts';

const place = (path: (typeof FIELDS)[number]) => FIELDS.indexOf(path);

/** The number of each field. */
export const FIELD = {
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

export class EntryCursor {
  bytes: Buffer = Buffer.alloc(0);
  private places: readonly number[] = [];
  private marks: readonly number[] = [];
  private first = 0;

  /** @param at where the marks of the entry begin */
  moveTo({ bytes, layouts, marks }: ShapedEntries, at: number): void {
    this.bytes = bytes;
    this.marks = marks;
    this.places = (layouts[marks[at] as number] as Layout).places;
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
