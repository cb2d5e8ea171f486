/** How old a password may be, and whether one of a given age has expired. Computation only. */

export interface AgePolicy {
  /** 0: passwords do not expire. */
  maxAgeDays: number;
  /** How many days before expiry users are warned. */
  expireWarnDays: number;
}

export interface PasswordAge {
  isExpired: boolean;
  /** Whole days left; set only within the warning period. */
  expiresInDays: number | undefined;
}

/** @param ageDays since the password was set, with fractions */
export function passwordAge({ maxAgeDays, expireWarnDays }: AgePolicy, ageDays: number): PasswordAge {
  const left = maxAgeDays - ageDays;
  if (maxAgeDays === 0) return { isExpired: false, expiresInDays: undefined };
  if (left < 0) return { isExpired: true, expiresInDays: undefined };
  return { isExpired: false, expiresInDays: left <= expireWarnDays ? Math.floor(left) : undefined };
}
