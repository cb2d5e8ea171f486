/** The kinds of policies: where each is stored, how it is validated, and how its errors and events are named. */
import type { z } from 'zod';
import type { OperationId } from '../access/permissions.ts';
import type { AgePolicy } from './age.ts';
import type { LengthPolicy } from './password-rules.ts';
import { agePolicyBody, complexityPolicyBody, type LoginPolicy, loginPolicyBody } from './schema.ts';

export interface PolicyKind<P> {
  /** The last part of its paths; its events have the same with dots. */
  path: 'password/age' | 'password/complexity' | 'login';
  /** What people call it. */
  title: string;
  table: string;
  /** The column of each field. */
  columns: { [field in keyof P & string]: string };
  body: z.ZodType<P>;
  /** First part of the ids of its errors. */
  area: string;
  operations: PolicyOperations;
}

interface PolicyOperations {
  get: OperationId;
  add: OperationId;
  update: OperationId;
  reset: OperationId;
  getDefault: OperationId;
  getOfInstance: OperationId;
  updateOfInstance: OperationId;
}

export const AGE: PolicyKind<AgePolicy> = {
  path: 'password/age',
  title: 'password-age policy',
  table: 'password_age_policies',
  columns: { maxAgeDays: 'max_age_days', expireWarnDays: 'expire_warn_days' },
  body: agePolicyBody,
  area: 'POLICY-AGE',
  operations: {
    get: 'getPasswordAgePolicy',
    add: 'addPasswordAgePolicy',
    update: 'updatePasswordAgePolicy',
    reset: 'resetPasswordAgePolicy',
    getDefault: 'getDefaultPasswordAgePolicy',
    getOfInstance: 'getInstancePasswordAgePolicy',
    updateOfInstance: 'updateDefaultPasswordAgePolicy',
  },
};

export const COMPLEXITY: PolicyKind<LengthPolicy> = {
  path: 'password/complexity',
  title: 'password-complexity policy',
  table: 'password_complexity_policies',
  columns: { minLength: 'min_length', maxLength: 'max_length' },
  body: complexityPolicyBody,
  area: 'POLICY-COMPLEXITY',
  operations: {
    get: 'getPasswordComplexityPolicy',
    add: 'addPasswordComplexityPolicy',
    update: 'updatePasswordComplexityPolicy',
    reset: 'resetPasswordComplexityPolicy',
    getDefault: 'getDefaultPasswordComplexityPolicy',
    getOfInstance: 'getInstancePasswordComplexityPolicy',
    updateOfInstance: 'updateDefaultPasswordComplexityPolicy',
  },
};

export const LOGIN: PolicyKind<LoginPolicy> = {
  path: 'login',
  title: 'login policy',
  table: 'login_policies',
  columns: { forceMfa: 'force_mfa' },
  body: loginPolicyBody,
  area: 'POLICY-LOGIN',
  operations: {
    get: 'getLoginPolicy',
    add: 'addLoginPolicy',
    update: 'updateLoginPolicy',
    reset: 'resetLoginPolicy',
    getDefault: 'getDefaultLoginPolicy',
    getOfInstance: 'getInstanceLoginPolicy',
    updateOfInstance: 'updateDefaultLoginPolicy',
  },
};
