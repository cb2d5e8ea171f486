/** Options of the commands about password sources. */
export const SOURCES_PATH = '/management/v1/password_sources';

export const SOURCE = {
  type: 'string',
  demandOption: true,
  describe: 'id of the source, as `password-sources list` shows it',
} as const;

export const SOURCE_ORG = { type: 'string', describe: 'id, exact name or domain of the organization' } as const;

export function sourcePath(id: string, rest = ''): string {
  return `${SOURCES_PATH}/${encodeURIComponent(id)}${rest}`;
}
