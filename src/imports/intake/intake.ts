/**
 * Receives the body of a bulk import: parses it, validates each user, writes the items, and starts the import.
 *
 * Guarantee: when this returns, every user of the body is durable and the import is running, or a draft; when it throws, nothing of
 * it remains. On crash: the import is still in state `receiving`, so it is invisible, no worker touches it, and the
 * sweep removes it.
 */

import type { Caller } from '../../access/caller.ts';
import { ApiError, invalidArgument } from '../../errors.ts';
import { isUnavailable } from '../../http/unavailable.ts';
import { inSpan } from '../../spans.ts';
import type { ImportDeps } from '../deps.ts';
import { bounded } from '../parse/body.ts';
import { foreignFormat, HEAD_BYTES } from '../parse/foreign.ts';
import { BodyIntake, type IntakeOptions } from './body-intake.ts';
import { AlreadyAccepted } from './idempotency.ts';

/**
 * @param body the decoded bytes
 * @returns the id of the import, which is running, or has ended if none of its users is valid. If an equal request with
 *   the same idempotency key was accepted meanwhile, the id of that import
 * @throws ApiError for the first fatal problem in body order; 409 for a key that was used for a different request; 413
 *   when the body is larger than MAX_IMPORT_BYTES
 */
export function receiveImport(
  deps: ImportDeps,
  caller: Caller,
  body: AsyncIterable<Buffer>,
  options: IntakeOptions,
): Promise<string> {
  return inSpan('import.receive', {}, () => receive(deps, new BodyIntake(deps, caller, options), body, options));
}

async function receive(
  deps: ImportDeps,
  intake: BodyIntake,
  body: AsyncIterable<Buffer>,
  options: IntakeOptions,
): Promise<string> {
  let head: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of bounded(body, deps.config.MAX_IMPORT_BYTES)) {
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES)]);
      options.keyed?.hash.update(chunk);
      for (const step of options.parser.push(chunk)) await intake.take(step);
      await intake.write();
    }
    for (const step of options.parser.end()) await intake.take(step);
    return await intake.accept();
  } catch (error) {
    if (isUnavailable(error) && (await intake.isAccepted())) return intake.importId;
    await intake.abandon();
    if (error instanceof AlreadyAccepted) return error.recorded.importId;
    throw foreignBody(error, head) ?? error;
  }
}

/** A better error for a body that is not JSON, if its format is known. */
function foreignBody(error: unknown, head: Buffer): ApiError | undefined {
  const message = error instanceof ApiError && error.id === 'REQUEST-JSON' ? foreignFormat(head) : undefined;
  return message === undefined ? undefined : invalidArgument('IMPORT-FORMAT', message);
}
