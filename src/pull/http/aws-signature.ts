/**
 * Signature version 4 of AWS, for requests with a body and without a query.
 *
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { createHash, createHmac } from 'node:crypto';

export interface AwsKeys {
  id: string;
  secret: string;
  /** Of temporary keys. */
  sessionToken?: string | undefined;
}

export interface AwsRequest {
  method: string;
  url: URL;
  /** All of them are signed. */
  headers: Readonly<Record<string, string>>;
  body: string;
  region: string;
  service: string;
}

/** The headers to add to those of the request. They are valid for five minutes. */
export function awsSignature(request: AwsRequest, keys: AwsKeys, now: Date): Record<string, string> {
  const { method, url, body, region, service } = request;
  const time = now.toISOString().replace(/[-:]|\.\d+/g, '');
  const added = {
    'x-amz-date': time,
    ...(keys.sessionToken === undefined ? {} : { 'x-amz-security-token': keys.sessionToken }),
  };
  const headers: Record<string, string> = { ...request.headers, ...added, host: url.host };
  const names = Object.keys(headers).sort();
  const lines = names.map((name) => `${name}:${headers[name]?.trim()}\n`).join('');
  const signed = names.join(';');
  const canonical = [method, url.pathname, '', lines, signed, sha256(body)].join('\n');
  const scope = [time.slice(0, 8), region, service, 'aws4_request'];
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce<string | Buffer>((previous, part) => hmac(previous, part), `AWS4${keys.secret}`);
  const signature = hmac(key, text).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${keys.id}/${scope.join('/')}, SignedHeaders=${signed}, Signature=${signature}`;
  return { ...added, authorization };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
