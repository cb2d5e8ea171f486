/** fast-check with the same values in each run, so that a change to the code is the only thing that can turn a test red. */
import fc from 'fast-check';

/** FUZZ_SEED chooses other values; a failure prints it. */
export const SEED = Number(process.env.FUZZ_SEED ?? 20_260_131);

fc.configureGlobal({ seed: SEED });

export default fc;
