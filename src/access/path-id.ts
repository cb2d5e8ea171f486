/** Ids in paths, percent-decoded; the same rule applies as for ids in bodies. */
import type { Request } from 'express';
import { idProblem } from '../fields/fields.ts';
import { badFields } from '../http/parse-body.ts';

/** @throws ApiError 400 when it is not a valid id (`.`, control characters, over 200 characters) */
export function pathId(req: Request, name: string): string {
  const value = req.params[name];
  const id = Array.isArray(value) ? value.join('/') : (value ?? '');
  const problem = idProblem(id);
  if (problem) throw badFields('REQUEST-ID', [{ field: name, description: problem }]);
  return id;
}
