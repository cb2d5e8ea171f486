/**
 * Follows the structure of a JSON document (RFC 8259, section 2): commas, colons, and where arrays and objects end. Its
 * caller reads the keys and values, or skips them.
 */
import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, type JsonWindow, QUOTE } from './json-window.ts';

/** `key` and `value` begin at the window's position; `end` is that of an array or object and was consumed. */
export type Part = 'key' | 'value' | 'end';

/** What the next byte after white space should begin. */
type Expect = 'value' | 'first' | 'key' | 'colon' | 'next';

export class JsonStructure {
  /** The open containers, from the outermost: whether each is an array. */
  private readonly containers: boolean[] = [];
  private expect: Expect = 'value';

  /**
   * The next part; the same one again until the caller has passed or entered it. Undefined when it has not arrived yet.
   * After the end of a document, another one may follow.
   * @throws the window's error where the syntax is wrong
   */
  next(window: JsonWindow): Part | undefined {
    for (;;) {
      const byte = window.peek();
      if (byte === undefined) return undefined;
      const isArray = this.containers.at(-1);
      const isEnd = byte === (isArray ? CLOSE_ARRAY : CLOSE_OBJECT);
      if (this.expect === 'value') return 'value';
      if (isEnd && (this.expect === 'first' || this.expect === 'next')) return this.leave(window);
      if (this.expect === 'first' && isArray) return 'value';
      if (this.expect === 'first' || this.expect === 'key') {
        if (byte !== QUOTE) throw window.invalid('syntax');
        return 'key';
      }
      if (byte !== (this.expect === 'colon' ? COLON : COMMA)) throw window.invalid('syntax');
      window.position++;
      this.expect = this.expect === 'colon' || isArray ? 'value' : 'key';
    }
  }

  private leave(window: JsonWindow): Part {
    window.position++;
    this.containers.pop();
    this.passValue();
    return 'end';
  }

  /** Consumes the bracket at the window's position. */
  enter(window: JsonWindow, isArray: boolean): void {
    window.position++;
    this.containers.push(isArray);
    this.expect = 'first';
  }

  /** The caller has read the key. */
  passKey(): void {
    this.expect = 'colon';
  }

  /** The caller has read the value. */
  passValue(): void {
    this.expect = this.containers.length === 0 ? 'value' : 'next';
  }
}
