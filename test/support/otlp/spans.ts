/** Decodes `ExportTraceServiceRequest` of OTLP 1 (opentelemetry/proto/trace/v1/trace.proto). */
import { bytesIn, fieldsOf, messagesIn, type Value } from './protobuf.ts';

export interface ReceivedSpan {
  /** `service.name` of the process. */
  service: string;
  traceId: string;
  spanId: string;
  /** Empty: the first of its trace. */
  parentId: string;
  name: string;
  kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  attributes: Record<string, string | number | boolean>;
  failed: boolean;
  /** In milliseconds. */
  took: number;
}

const KINDS = ['', 'internal', 'server', 'client', 'producer', 'consumer'];
const FAILED = 2n;

type Fields = Map<number, Value[]>;

export function spansOf(request: Buffer): ReceivedSpan[] {
  return messagesIn(fieldsOf(request), 1).flatMap((ofResource) => {
    const service = String(attributesIn(messagesIn(ofResource, 1)[0] ?? new Map(), 1)['service.name']);
    const ofScopes = messagesIn(ofResource, 2);
    return ofScopes.flatMap((ofScope) => messagesIn(ofScope, 2).map((span) => spanOf(service, span)));
  });
}

function spanOf(service: string, fields: Fields): ReceivedSpan {
  const hex = (number: number) => bytesIn(fields, number)[0]?.toString('hex') ?? '';
  const time = (number: number) => bytesIn(fields, number)[0]?.readBigUInt64LE() ?? 0n;
  const status = messagesIn(fields, 15)[0]?.get(3)?.[0];
  return {
    service,
    traceId: hex(1),
    spanId: hex(2),
    parentId: hex(4),
    name: textIn(fields, 5),
    kind: KINDS[Number(fields.get(6)?.[0] ?? 0)] as ReceivedSpan['kind'],
    attributes: attributesIn(fields, 9),
    failed: status === FAILED,
    took: Number(time(8) - time(7)) / 1e6,
  };
}

function attributesIn(fields: Fields, number: number): ReceivedSpan['attributes'] {
  return Object.fromEntries(
    messagesIn(fields, number).map((pair) => [textIn(pair, 1), anyValue(messagesIn(pair, 2)[0] ?? new Map())]),
  );
}

function anyValue(fields: Fields): string | number | boolean {
  if (fields.has(2)) return fields.get(2)?.[0] === 1n;
  if (fields.has(3)) return Number(fields.get(3)?.[0]);
  if (fields.has(4)) return bytesIn(fields, 4)[0]?.readDoubleLE() as number;
  return textIn(fields, 1);
}

function textIn(fields: Fields, number: number): string {
  return bytesIn(fields, number)[0]?.toString() ?? '';
}
