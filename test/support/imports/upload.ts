/** A manual upload: sent piece by piece, so that a test can kill a process in the middle of it. */
import { once } from 'node:events';
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Service } from '../processes/service.ts';

export interface UploadAnswer {
  status: number;
  text: string;
  headers: IncomingHttpHeaders;
}

export interface Upload {
  /** Resolves when the piece has been passed to the kernel. */
  write(piece: string | Uint8Array): Promise<void>;
  /** Sends the last piece and waits for the answer. */
  end(piece?: string | Uint8Array): Promise<UploadAnswer>;
  /** Breaks the connection. */
  cut(): void;
  /** Resolves when the connection has ended or the answer has arrived. */
  over: Promise<void>;
}

/** Starts a bulk import at the API that was started last. */
export function startUpload(service: Service, headers: Record<string, string> = {}, query = ''): Upload {
  const client = request(`${service.url}/admin/v1/import${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json', ...headers },
  });
  client.flushHeaders();
  const answer = answerOf(client);
  return {
    write: (piece) =>
      new Promise((resolve, reject) => {
        client.write(piece, (error) => (error ? reject(error) : resolve()));
      }),
    async end(piece = '') {
      client.end(piece);
      const settled = await answer;
      if (settled instanceof Error) throw settled;
      return settled;
    },
    cut: () => void client.destroy(),
    over: answer.then(() => {}),
  };
}

async function answerOf(client: ClientRequest): Promise<UploadAnswer | Error> {
  try {
    const [response] = (await once(client, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    return { status: response.statusCode as number, text, headers: response.headers };
  } catch (error) {
    return error as Error;
  }
}
