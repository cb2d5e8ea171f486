/** A problem that refuses the whole body: its stable id, the public message and the invalid field, if any. */
export class ParseError extends Error {
  readonly id: string;
  readonly field: string | undefined;
  constructor(id: string, message: string, field?: string) {
    super(message);
    this.id = id;
    this.field = field;
  }
}

/** How deep objects and arrays may nest, including the body itself. */
export const MAX_DEPTH = 64;
export const IMPORT_DEPTH_MESSAGE = `The body must not nest objects and arrays deeper than ${MAX_DEPTH} levels.`;
