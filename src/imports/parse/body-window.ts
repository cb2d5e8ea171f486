/** The window over an import's body, with the errors of the API. */
import { type Invalid, JsonWindow, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../streaming/json-window.ts';
import { ParseError } from './parse-error.ts';

/** The most bytes of a name or value outside of the users. */
const MAX_TOKEN = 2 ** 20;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

export class BodyWindow extends JsonWindow {
  /** The last byte of the body is in `buffer`. */
  final = false;

  override peek(): number | undefined {
    if (this.offset === 0 && this.position === 0 && this.buffer.subarray(0, 3).equals(BOM)) this.position = 3;
    return super.peek();
  }

  /**
   * Consumes the string, number or literal at `position`. Undefined when its end has not arrived yet.
   * @throws ParseError
   */
  scalar(): { value: unknown } | undefined {
    const { position, buffer } = this;
    const end = buffer[position] === QUOTE ? this.endOfString() : this.endOfScalar();
    const isComplete = end >= 0 && (end < buffer.length || this.final || buffer[position] === QUOTE);
    if ((end < 0 ? buffer.length : end) - position > MAX_TOKEN) {
      throw new ParseError(
        'IMPORT-BODY',
        `Each name and value outside of the users must be at most ${MAX_TOKEN} bytes.`,
      );
    }
    if (!isComplete) return undefined;
    const value = this.parse(this.text(position, end), position);
    this.position = end;
    return { value };
  }

  /** `[`, `{`, or neither. */
  bracket(): '[' | '{' | undefined {
    const byte = this.buffer[this.position];
    if (byte === OPEN_ARRAY) return '[';
    return byte === OPEN_OBJECT ? '{' : undefined;
  }

  invalid(what: Invalid, at: number = this.position): ParseError {
    return this.notJson(at, what === 'utf8' ? 'it is not valid UTF-8' : 'there is a syntax error');
  }

  /** @param at position in `buffer` */
  notJson(at: number, what: string): ParseError {
    return new ParseError('REQUEST-JSON', `The body is not valid JSON: ${what} at or after byte ${this.offset + at}.`);
  }
}
