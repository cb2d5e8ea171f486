/**
 * Reads a stream of Server-Sent Events as the HTML standard defines it
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html) and yields the data of each event. Names and ids of
 * events are not used here, and ignored.
 */

/** Longer than any event that the service sends; a stream with a longer line is not an event stream. */
const MOST_CHARS = 4 * 1024 * 1024;

/** @throws SyntaxError when it is not an event stream; otherwise the error of the stream */
export async function* eventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const line of linesOf(bytes)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n');
      data = [];
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    }
  }
}

/** Complete lines, ended by `\n`, `\r\n` or `\r`. */
async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    rest += decoder.decode(chunk, { stream: true });
    // A `\r` at the end may be the first half of a `\r\n`.
    const lines = rest.split(/\r\n|\n|\r(?=.)/s);
    rest = lines.pop() as string;
    if (rest.length > MOST_CHARS) throw new SyntaxError('The response is not an event stream.');
    yield* lines;
  }
}
