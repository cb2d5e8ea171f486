/** Makes certificates with OpenSSL. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * Makes a certificate for `localhost` that is its own authority, and its key.
 * @param dir a folder for the two files
 */
export function makeCertificate(dir: string): { certificate: string; key: string } {
  const files = { certificate: join(dir, 'tls.crt'), key: join(dir, 'tls.key') };
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', files.key];
  const command = ['req', '-x509', ...key, '-out', files.certificate, '-days', '2', ...subject];
  execFileSync('openssl', command, { stdio: 'pipe' });
  return files;
}
