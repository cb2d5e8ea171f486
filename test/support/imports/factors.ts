/** The second factors, recovery codes and passkeys of a user, as they are stored. */
import type { Pool } from '../../../src/platform/db/pool.ts';

export interface StoredFactors {
  totps: { id: string; name: string; secret: string }[];
  /** The row of user_factors, if there is one. */
  row: Record<string, unknown> | undefined;
  otpEmail: boolean;
  otpSms: boolean;
  lostAt: Date | null;
  recoverySealed: string | null;
  recoveryLeft: number;
  /** Bytes are in base64url; by credential id. */
  passkeys: {
    credentialId: string;
    publicKey: string;
    signCount: string;
    rpId: string;
    userHandle: string | null;
    transports: string[];
    name: string;
    backedUp: boolean | null;
    passwordless: boolean;
  }[];
}

export async function factorsOf(pool: Pool, userId: string): Promise<StoredFactors> {
  const totps = await pool.query('select id, name, secret from user_totp where user_id = $1 order by id', [userId]);
  const factors = await pool.query('select * from user_factors where user_id = $1', [userId]);
  const passkeys = await pool.query('select * from user_passkeys where user_id = $1 order by credential_id', [userId]);
  const [row] = factors.rows;
  return {
    totps: totps.rows,
    row,
    otpEmail: row?.otp_email ?? false,
    otpSms: row?.otp_sms ?? false,
    lostAt: row?.lost_at ?? null,
    recoverySealed: row?.recovery_sealed ?? null,
    recoveryLeft: row?.recovery_left ?? 0,
    passkeys: passkeys.rows.map((key) => ({
      credentialId: key.credential_id.toString('base64url'),
      publicKey: key.public_key.toString('base64url'),
      signCount: key.sign_count,
      rpId: key.rp_id,
      userHandle: key.user_handle?.toString('base64url') ?? null,
      transports: key.transports,
      name: key.name,
      backedUp: key.backed_up,
      passwordless: key.passwordless,
    })),
  };
}
