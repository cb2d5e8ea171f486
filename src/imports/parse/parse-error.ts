/** What refuses a whole import: its stable id, the public message and, where there is one, the bad field. */
export class ParseError extends Error {
  readonly id: string;
  readonly field: string | undefined;
  constructor(id: string, message: string, field?: string) {
    super(message);
    this.id = id;
    this.field = field;
  }
}

/** Containers that may be open at once, the body's own braces included (contract section 4). */
export const MAX_DEPTH = 64;
export const IMPORT_DEPTH_MESSAGE = `The body nests deeper than ${MAX_DEPTH} levels.`;
