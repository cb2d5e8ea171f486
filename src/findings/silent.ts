/** What to do about a store that does not answer. */

const ABOUT_CERTIFICATES = /certificate|altnames/i;

/**
 * @param setting the variable that has its address
 * @param reason the error, if it is known
 */
export function adviceForSilent(setting: 'DATABASE_URL' | 'REDIS_URL', reason = ''): string {
  if (!ABOUT_CERTIFICATES.test(reason)) return `Check that it is running and that ${setting} is right.`;
  const further = setting === 'DATABASE_URL' ? ', or add sslrootcert=FILE to DATABASE_URL' : '';
  return `If a private authority signed its certificate, set NODE_EXTRA_CA_CERTS to a file with the certificate of this authority${further}.`;
}
