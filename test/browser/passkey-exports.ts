/**
 * Exports of old systems whose users have passkeys: each system's own form of one public record, as its converter in
 * src/sources/systems reads it. The private keys are those of test/support/passkeys.ts.
 */
import { createHash } from 'node:crypto';
import { type Passkey, passkey } from '../support/passkeys.ts';

/** Here, and another host. */
export const HOSTS = { ours: 'localhost', other: 'login.old.example' } as const;

export interface PasskeyExport {
  source: string;
  /** Of which no record of the system names the host. */
  args: string[];
  /** The text of the file. */
  text: string;
  users: ExportedUser[];
}

export interface ExportedUser {
  id: string;
  address: string;
  key: Passkey;
}

/** What a system exports of a user. @returns the record, and options of the command line */
interface System {
  /** The record of a user. */
  record(user: ExportedUser): object;
  /** The file with all records; default: a JSON list. */
  file?(records: object[]): unknown;
  /** The export does not name the host of a passkey, so that all are of one that the command line names. */
  namesNoHost?: true;
  /** The user handle that the system gave; default: none is exported, and the device has one all the same. */
  handle?(id: string): Buffer;
}

const SYSTEMS: Readonly<Record<string, System>> = {
  keycloak: {
    handle: (id) => Buffer.from(id),
    record: ({ id, address, key }) => ({
      ...{
        id,
        username: address,
        email: address,
        emailVerified: true,
        enabled: true,
        firstName: 'Ann',
        lastName: 'Arbor',
      },
      credentials: [
        {
          type: 'webauthn-passwordless',
          userLabel: 'Laptop',
          secretData: '{}',
          credentialData: JSON.stringify({
            ...{ aaguid: '00000000-0000-0000-0000-000000000000', counter: key.record().signCount },
            credentialId: base64(key.credentialId),
            credentialPublicKey: key.cose.toString('base64url'),
            ...{ attestationStatementFormat: 'none', transports: ['internal'] },
          }),
        },
      ],
    }),
    namesNoHost: true,
    file: (users) => ({ realm: 'acme', enabled: true, users }),
  },
  kratos: {
    handle: (id) => createHash('sha256').update(id).digest().subarray(0, 16),
    record: ({ id, address, key }) => ({
      ...{ id, schema_id: 'default', state: 'active', traits: { email: address } },
      verifiable_addresses: [{ value: address, verified: true, via: 'email', status: 'completed' }],
      credentials: {
        passkey: {
          type: 'passkey',
          config: {
            user_handle: base64(key.record().userHandle ?? ''),
            credentials: [
              {
                ...{ id: base64(key.credentialId), public_key: key.cose.toString('base64'), attestation_type: 'none' },
                authenticator: { aaguid: 'AAAAAAAAAAAAAAAAAAAAAA==', sign_count: 0, clone_warning: false },
                ...{ display_name: 'Phone', added_at: '2025-02-13T10:36:16Z', is_passwordless: true },
              },
            ],
          },
        },
      },
    }),
    namesNoHost: true,
  },
  supabase: {
    record: ({ id, address, key }) => ({
      ...{
        id,
        email: address,
        email_confirmed_at: '2026-01-01T00:00:00Z',
        encrypted_password: '',
        raw_app_meta_data: {},
      },
      passkeys: JSON.stringify([
        {
          ...{ credential_id: hex(key.credentialId), public_key: `\\x${key.cose.toString('hex')}`, sign_count: 0 },
          ...{ transports: ['internal'], backed_up: true },
        },
      ]),
    }),
    namesNoHost: true,
  },
  authentik: {
    record: ({ id, address, key }) => ({
      ...{
        uuid: id,
        path: 'users',
        type: 'internal',
        attributes: {},
        username: address,
        email: address,
        is_active: true,
      },
      devices: [
        {
          ...{ type: 'webauthn', confirmed: true, name: 'Phone', sign_count: 0, rp_id: key.record().rpId },
          ...{ credential_id: key.credentialId, public_key: key.cose.toString('base64url') },
        },
      ],
    }),
  },
  logto: {
    record: ({ id, address, key }) => ({
      ...{
        id,
        username: id.replaceAll('-', '_'),
        primary_email: address,
        is_suspended: false,
        identities: {},
        custom_data: {},
      },
      mfa_verifications: JSON.stringify([
        {
          ...{ id: 'v1', type: 'WebAuthn', createdAt: '2026-01-01T00:00:00Z', counter: 0, rpId: key.record().rpId },
          ...{ credentialId: key.credentialId, publicKey: key.cose.toString('base64url'), agent: 'Firefox' },
        },
      ]),
    }),
  },
  'better-auth': {
    record: ({ id, address, key }) => ({
      ...{ id, name: 'Ann Arbor', email: address, emailVerified: true, accounts: [] },
      passkeys: [
        {
          ...{ credentialID: key.credentialId, publicKey: key.cose.toString('base64'), counter: 0, backedUp: true },
          ...{ deviceType: 'multiDevice', transports: 'internal,hybrid' },
        },
      ],
    }),
    namesNoHost: true,
  },
  fusionauth: {
    record: ({ id, address, key }) => ({
      ...{ id, active: true, verified: true, insertInstant: 1_700_000_000_000, email: address },
      webAuthnCredentials: [
        {
          ...{ credentialId: key.credentialId, publicKey: key.pem, relyingPartyId: key.record().rpId, signCount: 0 },
          transports: ['internal'],
        },
      ],
    }),
    file: (users) => ({ users }),
  },
  auth0: {
    handle: (id) => createHash('sha256').update(`auth0 ${id}`).digest(),
    record: ({ id, address, key }) => ({
      ...{ user_id: id, email: address, email_verified: true },
      authentication_methods: [
        {
          ...{ id: 'passkey|1', type: 'passkey', confirmed: true, key_id: key.credentialId },
          ...{ public_key: key.cose.toString('base64'), relying_party_identifier: key.record().rpId },
          ...{ user_handle: key.record().userHandle, credential_backed_up: true },
        },
      ],
    }),
  },
  authelia: {
    record: ({ id, address, key }) => ({
      ...{ username: id, displayname: 'Ann Arbor', disabled: false, email: address, groups: [], password: '' },
      webauthn_credentials: [
        {
          ...{ rpid: key.record().rpId, kid: base64(key.credentialId), public_key: key.cose.toString('base64') },
          ...{ discoverable: true, sign_count: 0, transports: ['internal'], backup_state: false, description: 'Phone' },
        },
      ],
    }),
  },
  aspnet: {
    record: ({ id, address, key }) => ({
      ...{ Id: id, UserName: address, Email: address, EmailConfirmed: true, PhoneNumberConfirmed: false },
      ...{ TwoFactorEnabled: false, SecurityStamp: 'x', LockoutEnabled: true, AccessFailedCount: 0 },
      Passkeys: JSON.stringify([{ CredentialId: base64(key.credentialId), Data: aspnetData(key) }]),
    }),
  },
};

/** Of each system an export with a user whose passkey is for our host, and one whose passkey is for another. */
export function passkeyExports(): PasskeyExport[] {
  return Object.entries(SYSTEMS).flatMap(([source, system]) => {
    const users = [HOSTS.ours, HOSTS.other].map((rpId) => userOf(source, system, rpId));
    if (!system.namesNoHost) return [fileOf(source, system, users, [])];
    return users.map((user) => fileOf(source, system, [user], ['--passkey-rp-id', user.key.record().rpId]));
  });
}

function userOf(source: string, { handle }: System, rpId: string): ExportedUser {
  const id = `${source}-${rpId === HOSTS.ours ? 'ann' : 'bob'}`;
  const userHandle = handle?.(id) ?? Buffer.from(`handle of ${id}`);
  const key = passkey(`moved ${id}`, { rpId, userHandle, signCount: source === 'keycloak' ? 7 : 0 });
  return { id, address: `${id}@moved.example.com`, key };
}

function fileOf(source: string, { record, file }: System, users: ExportedUser[], args: string[]): PasskeyExport {
  const records = users.map(record);
  return { source, args, users, text: JSON.stringify(file ? file(records) : records) };
}

/** ASP.NET names the host nowhere: what the device answered at the registration has its hash. */
function aspnetData({ cose, record }: Passkey): string {
  const { rpId } = record();
  const attested = Buffer.concat([
    Buffer.from('a363666d74', 'hex'),
    createHash('sha256').update(rpId).digest(),
    Buffer.alloc(40),
  ]);
  const client = { type: 'webauthn.create', origin: `https://${rpId}` };
  return JSON.stringify({
    ...{ PublicKey: cose.toString('base64'), Name: 'Phone', SignCount: 0, Transports: ['internal'], IsBackedUp: true },
    AttestationObject: attested.toString('base64'),
    ClientDataJson: Buffer.from(JSON.stringify(client)).toString('base64'),
  });
}

function base64(text: string): string {
  return Buffer.from(text, 'base64url').toString('base64');
}

function hex(text: string): string {
  return `\\x${Buffer.from(text, 'base64url').toString('hex')}`;
}
