import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { after, before, describe, it } from 'node:test';
import { type PostOptions, post } from '../../../src/messages/webhooks/sender.ts';
import { newWebhookSecret, signatureHeaders } from '../../../src/messages/webhooks/signature.ts';
import type { Resolve } from '../../../src/platform/http/outgoing.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

describe('one attempt', () => {
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver.stop());

  const to = (url: string, options: Partial<PostOptions> = {}) =>
    post(url, { 'content-type': 'application/json', 'x-it': 'is' }, '{"é":1}', { allowPrivate: true, ...options });
  /** A resolver that returns one list after the other, and counts. */
  function resolver(...answers: string[][]): Resolve & { asked: string[] } {
    const asked: string[] = [];
    const resolve = (name: string, _options: unknown, done: (error: null, found: LookupAddress[]) => void) => {
      asked.push(name);
      const addresses = answers[Math.min(asked.length, answers.length) - 1] ?? [];
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    };
    return Object.assign(resolve as unknown as Resolve, { asked });
  }
  const named = (name: string) => receiver.url.replace('127.0.0.1', name);

  it('sends exactly these bytes with the headers, and returns the status', async () => {
    assert.deepEqual(await to(receiver.url), { status: 204 });
    const [message] = receiver.messages.splice(0);
    assert.deepEqual([message?.method, message?.path, message?.raw], ['POST', '/hook?of=imports', '{"é":1}']);
    assert.deepEqual(
      [message?.headers['x-it'], message?.headers['content-length'], message?.headers['content-type']],
      ['is', '8', 'application/json'],
    );
  });

  it('follows no redirect', async () => {
    receiver.answer(307);
    assert.deepEqual(await to(receiver.url), { status: 307 });
    assert.equal(receiver.messages.splice(0).length, 1);
  });

  it('cuts off an endless response, and times out without one', async (t) => {
    // A message may arrive after its time is over, so no other test uses this receiver.
    const own = await startReceiver();
    t.after(() => own.stop());
    own.answer('flood', 'silence');
    assert.deepEqual(await to(own.url), { status: 200 });
    assert.deepEqual(await to(own.url, { attemptMs: 100 }), { reason: 'no answer in time' });
  });

  it('says why a receiver was not reached', async () => {
    assert.deepEqual(await to('http://127.0.0.1:1/'), { reason: 'ECONNREFUSED' });
    assert.deepEqual(await to('http://127.0.0.1:1/', { allowPrivate: false }), {
      reason: 'the URL must start with https://',
    });
    assert.deepEqual(
      await to(receiver.url.replace('http:', 'https:'), { attemptMs: 5000 }).then((r) => 'reason' in r),
      true,
    );
  });

  it('connects to no private address behind a name, even if the DNS answer changes', async () => {
    const resolve = resolver(['127.0.0.1']);
    const url = named('rebind.example').replace('http:', 'https:');
    assert.deepEqual(await to(url, { allowPrivate: false, resolve }), { reason: 'the host has no public address' });
    assert.deepEqual(await to(url, { allowPrivate: false, resolve: resolver(['10.0.0.1', '::1', 'fd00::1']) }), {
      reason: 'the host has no public address',
    });
    assert.deepEqual(resolve.asked, ['rebind.example'], 'it is resolved once');
    assert.deepEqual(receiver.messages, []);
  });

  it('connects to exactly the resolved address', async () => {
    const resolve = resolver(['127.0.0.1'], ['127.0.0.2']);
    assert.deepEqual(await to(named('hook.example'), { resolve }), { status: 204 });
    assert.deepEqual(resolve.asked, ['hook.example']);
    assert.equal(receiver.messages.splice(0)[0]?.headers.host, new URL(named('hook.example')).host);
  });

  it('ends at once when it is aborted', async () => {
    receiver.answer('silence');
    const stopping = new AbortController();
    const sent = to(receiver.url, { signal: stopping.signal });
    stopping.abort();
    assert.equal('reason' in (await sent), true);
  });
});

describe('a signature', () => {
  it('matches the specification', () => {
    // Computed with the reference library of Standard Webhooks for these values.
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at: 1_614_265_330_000, body: '{"test": 2432232314}' };
    assert.deepEqual(signatureHeaders(secret, message), {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('has a new secret each time', () => {
    const [one, two] = [newWebhookSecret(), newWebhookSecret()];
    assert.match(one, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.notEqual(one, two);
  });
});
