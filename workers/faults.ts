/** Counts failed attempts to write users since the start of the process, for `/metrics` of a worker. */
import type { Measure } from '../src/http/metrics/metrics.ts';
import type { FaultOfBatch } from '../src/imports/run/batch-writer.ts';

export interface Faults {
  note(kind: FaultOfBatch): void;
  measure: Measure;
}

export function openFaults(): Faults {
  const counts: Partial<Record<FaultOfBatch, number>> = { retry: 0, data: 0, other: 0 };
  return {
    note(kind) {
      counts[kind] = (counts[kind] ?? 0) + 1;
    },
    measure: {
      name: 'muster_import_faults_total',
      help: 'Attempts to write users that failed: retry (the connection), data (a row that PostgreSQL refuses), other (an error of Muster).',
      label: 'kind',
      counts: true,
      read: async () => ({ ...counts }),
    },
  };
}
