/** Judges the replica of DATABASE_REPLICA_URL. Without it, or while it is behind, the primary answers its reads. */
import type { ReplicaFacts } from '../diagnostics/replica.ts';
import { type Finding, ok, size, warning } from './finding.ts';

const NAME = 'replica';
/** Reads wait 30 ms for it; a replica that is so far behind rarely answers any. */
const MOST_SECONDS = 10;
const MOST_BYTES = 64 * 2 ** 20;

/**
 * @param facts absent if no replica is set
 * @param reason why it does not answer, if that is known
 */
export function judgeReplica(facts: ReplicaFacts | undefined, reason?: string): Finding[] {
  if (!facts) return [];
  const { answers, isReplica, lagBytes = 0, lagSeconds = 0 } = facts;
  if (!answers) {
    const advice = 'Check that it is running and that DATABASE_REPLICA_URL is right. Until then the primary answers.';
    return [warning(NAME, `it does not answer${reason ? ` (${reason})` : ''}`, advice)];
  }
  if (!isReplica) {
    const advice =
      'It was promoted, or never was a replica: correct DATABASE_REPLICA_URL. The primary answers its reads.';
    return [warning(NAME, 'it is not a replica of the database', advice)];
  }
  const lag = `${size(lagBytes)} and ${Math.round(lagSeconds)} s behind`;
  if (lagSeconds <= MOST_SECONDS && lagBytes <= MOST_BYTES) return [ok(NAME, lagBytes === 0 ? 'up to date' : lag)];
  return [
    warning(NAME, `it is ${lag}, so the primary answers`, 'Check its load, its disk, and the network between them.'),
  ];
}
