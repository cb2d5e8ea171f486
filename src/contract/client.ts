/**
 * The operations as a program calls them: by name, with types of what is sent and answered. In a file that loads no
 * zod: the command line starts without it.
 */
import type { z } from 'zod';
import type { AnswerOf, BodyOf, Operation, ParamsOf } from './operation.ts';
import type { Contract, OperationId } from './operations.ts';
import { OUTLINE } from './outline.ts';

/** The values of the path. */
export type Params<Id extends OperationId> = ParamsOf<Contract[Id]['path']>;
/** The body as the operation takes it. */
export type Sent<Id extends OperationId> = z.input<BodyOf<Contract[Id] & Operation>>;
/** The JSON that it answers. */
export type Answer<Id extends OperationId> = z.output<AnswerOf<Contract[Id] & Operation>>;

/** Method and path of a call, with the values in place. */
export function requestOf<Id extends OperationId>(id: Id, params: Params<Id>): { method: string; path: string } {
  const [method = '', pattern = ''] = OUTLINE[id].path.split(' ');
  const values = (params ?? {}) as Readonly<Record<string, string>>;
  return { method, path: pattern.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(values[name]))) };
}
