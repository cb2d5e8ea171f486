/**
 * Statements in `.sql` files, beside the code that sends them: for statements that are longer than a screen. A file is
 * read once, when its module is loaded, and becomes a text with the parameters `$1`, `$2`, ….
 *
 * `:userId` in the file is a parameter. Texts in quotes, comments and casts (`::int`) are left as they are. The comment
 * that the file begins with is not sent.
 *
 * One file may hold several variants of a statement. Lines after `-- if fail, skip` belong to these variants only, until
 * the next `-- if` or `-- end`; each of the three is a line of its own.
 *
 * Guarantee: a process does not start with a file whose parameters or variants differ from those that its code lists.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A statement with named parameters. @typeParam P their names */
export interface Statement<P extends string> {
  /** As it is sent. */
  readonly text: string;
  /** Under which a connection prepares it; undefined: it is planned anew each time. */
  readonly name: string | undefined;
  /** The statement with its values, for `query`. */
  bind(values: Readonly<Record<P, unknown>>): { name: string | undefined; text: string; values: unknown[] };
}

/** What the code says about a file. */
interface FileOptions<P extends string> {
  /** The names of its parameters. */
  parameters: readonly P[];
  /** See `name` of a statement. */
  name?: string;
}

/** What must not be read as parameters, then a parameter. */
const TOKENS =
  /\bE'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--.*|\/\*[\s\S]*?\*\/|\$(\w*)\$[\s\S]*?\$\1\$|::|:([a-z_]\w*)|\$\d+/gi;
const MARK = /^\s*-- (?:if ([\w, ]+)|end)$/;
const HEADER = /^(?:--.*\n)+/;

/**
 * Reads a file that holds one statement.
 * @param file beside the code: `new URL('<name>.sql', import.meta.url)`
 * @throws Error when the file has other parameters
 */
export function readStatement<const P extends string>(file: URL, options: FileOptions<P>): Statement<P> {
  const { only } = variantsOf(readFileSync(file, 'utf8'), basename(fileURLToPath(file)), {
    ...options,
    names: { only: options.name },
  });
  return only;
}

/**
 * Reads a file that holds several variants of a statement.
 * @param options.names of the prepared statements, by variant
 * @throws Error when the file has other parameters, or lines for a variant that `names` does not list
 */
export function readVariants<const P extends string, V extends string>(
  file: URL,
  options: { parameters: readonly P[]; names: Record<V, string> },
): Record<V, Statement<P>> {
  return variantsOf(readFileSync(file, 'utf8'), basename(fileURLToPath(file)), options);
}

/**
 * The statements of a text. A variant has only the parameters that its own lines name.
 * @param file for errors
 */
export function variantsOf<const P extends string, V extends string>(
  text: string,
  file: string,
  { parameters, names }: { parameters: readonly P[]; names: Record<V, string | undefined> },
): Record<V, Statement<P>> {
  const used = new Set<string>();
  const variants = Object.keys(names) as V[];
  const statements = variants.map((variant) => {
    const own = numbered(linesOf(text, file, variant, variants), file, parameters);
    for (const parameter of own.parameters) used.add(parameter);
    return [variant, statementOf(own, names[variant])] as const;
  });
  const unused = parameters.filter((parameter) => !used.has(parameter));
  if (unused.length > 0) throw new Error(`${file} does not use the parameters ${unused.join(', ')}.`);
  return Object.fromEntries(statements) as Record<V, Statement<P>>;
}

function statementOf<P extends string>(
  { text, parameters }: { text: string; parameters: readonly P[] },
  name: string | undefined,
): Statement<P> {
  return { text, name, bind: (values) => ({ name, text, values: parameters.map((parameter) => values[parameter]) }) };
}

/** The lines of a variant, without the marks. */
function linesOf(text: string, file: string, variant: string, variants: readonly string[]): string {
  let open: string[] | undefined;
  const lines = text.split('\n').filter((line, index) => {
    const mark = MARK.exec(line);
    if (!mark) return open?.includes(variant) ?? true;
    const next = mark[1]?.split(', ');
    const unknown = next?.filter((name) => !variants.includes(name)) ?? [];
    if (unknown.length > 0) throw new Error(`${file}:${index + 1} has lines for the unknown variant ${unknown}.`);
    if (!next && !open) throw new Error(`${file}:${index + 1} ends lines of variants that did not begin.`);
    open = next;
    return false;
  });
  if (open) throw new Error(`${file} does not end the lines for ${open.join(', ')}.`);
  return lines.join('\n').replace(HEADER, '').trimEnd();
}

/** The text with `$1`, `$2`, … for its parameters, and these in the order of their numbers. */
function numbered<P extends string>(text: string, file: string, parameters: readonly P[]) {
  const namesIn = [...text.matchAll(TOKENS)].flatMap(([, , name]) => name ?? []);
  const unknown = namesIn.find((name) => !(parameters as readonly string[]).includes(name));
  if (unknown !== undefined) throw new Error(`${file} has the parameter ${unknown}, which its code does not list.`);
  const own = parameters.filter((parameter) => namesIn.includes(parameter));
  const replaced = text.replace(TOKENS, (token: string, _tag, name?: P) => {
    if (/^\$\d+$/.test(token)) throw new Error(`${file} has the parameter ${token}, which must have a name.`);
    return name === undefined ? token : `$${own.indexOf(name) + 1}`;
  });
  return { text: replaced, parameters: own };
}
