/** Health check of a container: status 0 when the address in the first argument answers 2xx within three seconds. */
const [url = ''] = process.argv.slice(2);

const answer = await fetch(url, { signal: AbortSignal.timeout(3000) }).catch((error: Error) => error);
if (answer instanceof Error || !answer.ok) {
  console.error(`${url}: ${answer instanceof Error ? answer.message : answer.status}`);
  process.exit(1);
}
