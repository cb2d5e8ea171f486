/**
 * Rewrites YAML as JSON for the reader of JSON.
 *
 * Guarantee: every value stays as it is written: no number loses digits, a plus or a zero at its beginning. Users stay on
 * their lines. Aliases that refer to each other without end are an error.
 */
import type { Document, Node, Pair, YAMLMap } from 'yaml';
import { FileError, MAX_RECORD_BYTES } from './records.ts';

/** YAML is read as a whole. */
const MOST_BYTES = MAX_RECORD_BYTES;
/** Maps may merge each other endlessly. */
const MOST_MERGES = 100_000;
const ENDLESS = 'The aliases of the YAML cannot be resolved, or are too many.';

type Yaml = typeof import('yaml');
type Parsed = Document.Parsed;

/**
 * @param isWhole the text is complete, so an error is one
 * @throws FileError when it is not valid, or too large
 */
export async function* yamlAsJson(text: AsyncIterable<Buffer>, isWhole: boolean): AsyncGenerator<Buffer> {
  const whole = await textOf(text);
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const parsed = yaml.parseAllDocuments(whole, { schema: 'failsafe', lineCounter: lines });
  const documents: Parsed[] = Array.isArray(parsed) ? parsed : [];
  const broken = documents.flatMap(({ errors }) => errors)[0];
  if (broken && isWhole) throw new FileError('The file is not valid YAML.', broken.linePos?.[0].line);
  const writer = new JsonWriter(yaml, (at) => lines.linePos(at).line);
  try {
    yield Buffer.from(`${documents.map((document) => writer.ofNode(document.contents, document)).join('\n')}\n`);
  } catch (error) {
    // Too deep for the stack, too long for a string, or what the library refuses.
    if (error instanceof RangeError || error instanceof ReferenceError) throw new FileError(ENDLESS, writer.line);
    throw error;
  }
}

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of chunks) {
    size += part.length;
    if (size > MOST_BYTES) {
      throw new FileError(
        `YAML of more than ${MOST_BYTES} bytes is not read. Convert it: yq -o json FILE > users.json`,
      );
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

class JsonWriter {
  /** The line that was written last. */
  line = 1;
  private readonly yaml: Yaml;
  private readonly lineAt: (offset: number) => number;
  private merges = 0;

  constructor(yaml: Yaml, lineAt: (offset: number) => number) {
    this.yaml = yaml;
    this.lineAt = lineAt;
  }

  ofNode(node: unknown, document: Parsed): string {
    const { isAlias, isMap, isScalar, isSeq } = this.yaml;
    if (isScalar(node)) return JSON.stringify(node.type === 'PLAIN' && isNull(node.value) ? null : node.value);
    if (isSeq(node)) {
      return `[${(node.items as Node[]).map((item) => this.begun(item) + this.ofNode(item, document)).join(',')}]`;
    }
    if (isMap(node)) {
      return `{${this.pairsOf(node, document)
        .map((pair) => this.ofPair(pair, document))
        .join(',')}}`;
    }
    return isAlias(node) ? JSON.stringify(node.toJS(document)) : 'null';
  }

  private ofPair({ key, value }: Pair<Node, Node>, document: Parsed): string {
    return `${this.begun(key)}${JSON.stringify(String(key))}:${this.ofNode(value, document)}`;
  }

  /** The pairs of a map, with those that it merges (`<<`) and does not have itself. */
  private pairsOf(map: YAMLMap, document: Parsed): Pair<Node, Node>[] {
    const { isAlias, isMap, isSeq } = this.yaml;
    const pairs = new Map<string, Pair<Node, Node>>();
    for (const pair of map.items as Pair<Node, Node>[]) {
      if (String(pair.key) !== '<<') {
        pairs.set(String(pair.key), pair);
        continue;
      }
      const merged: unknown[] = isSeq(pair.value) ? pair.value.items : [pair.value];
      for (const from of merged) {
        const source = isAlias(from) ? from.resolve(document) : from;
        if (!isMap(source)) continue;
        if (++this.merges > MOST_MERGES) throw new RangeError();
        for (const one of this.pairsOf(source, document)) {
          if (!pairs.has(String(one.key))) pairs.set(String(one.key), one);
        }
      }
    }
    return [...pairs.values()];
  }

  /** Line breaks up to the line where a node begins. */
  private begun(node: Node): string {
    const at = node.range ? this.lineAt(node.range[0]) : this.line;
    const breaks = '\n'.repeat(Math.max(0, at - this.line));
    this.line = Math.max(this.line, at);
    return breaks;
  }
}

function isNull(value: unknown): boolean {
  return value === '' || value === '~' || /^null$/i.test(String(value));
}
