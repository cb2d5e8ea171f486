/** The window over an export file, with the errors of the converter. */
import { type Invalid, JsonWindow } from '../../streaming/json-window.ts';
import { FileError, MAX_RECORD_BYTES } from './records.ts';

export class FileWindow extends JsonWindow {
  /** The value between two positions. @throws FileError */
  value(from: number, end: number): unknown {
    return this.parse(this.text(from, end), from);
  }

  /**
   * More bytes are needed for the value that began at `from`.
   * @throws FileError when there are no more, or the value is too long
   */
  needMore(from: number, final: boolean): false {
    if (final) throw this.cutOff();
    if (this.buffer.length - from > MAX_RECORD_BYTES) {
      throw new FileError(`A record is longer than ${MAX_RECORD_BYTES} bytes.`, this.line);
    }
    return false;
  }

  invalid(what: Invalid): FileError {
    return new FileError(`The file is not valid ${what === 'utf8' ? 'UTF-8' : 'JSON'}.`, this.line);
  }

  cutOff(): FileError {
    return new FileError('The file ends in the middle of a value.', this.line);
  }
}
