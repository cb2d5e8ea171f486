-- Adds many jobs to a queue, as `addStandardJob` of BullMQ 6.7 adds each of them.
--
-- It does the simple case only: new jobs with ids of their own, without parent, repetition or deduplication, at the end of
-- a queue that is neither paused nor limited. It checks this before the first write. Where a condition does not hold it
-- returns nil and has written nothing; the caller then calls BullMQ's script for each job. A queue whose event stream may
-- have no entry (`maxLen` 0) gets none: BullMQ's script adds each and removes it at the next call.
--
-- On failure: Redis keeps what a script wrote before an error. No worker sees a job before its id is in the waiting list,
-- which is the last write; an error before it removes the jobs again, so that BullMQ's script can add each of them.
--
-- KEYS are those of BullMQ's script; `own` holds BullMQ's arguments of each job. Returns the ids of the jobs.
local function batch(KEYS, shared, own)
  local call = redis.call
  local events, n = KEYS[8], #own
  local meta = call('HMGET', KEYS[3], 'paused', 'concurrency', 'opts.maxLenEvents')
  if meta[1] or meta[2] or not meta[3] then return nil end
  local hasEvents = tonumber(meta[3]) ~= 0
  local jobs, ids, keys, seen = {}, {}, {}, {}
  for i = 1, n do
    local args, opts = cmsgpack.unpack(own[i][1]), cmsgpack.unpack(own[i][3])
    local id = args[2]
    if id == '' or seen[id] or args[5] or args[6] or args[7] or args[8] or args[9] or opts.de or opts.lifo then return nil end
    seen[id], ids[i], keys[i], jobs[i] =
      true, id, args[1] .. id, {args[3], string.format('%d', args[4]), opts, cjson.encode(opts)}
  end
  if call('EXISTS', unpack(keys)) > 0 then return nil end

  local ok, failure = pcall(function()
    call('INCRBY', KEYS[4], n)
    for i = 1, n do
      local name, timestamp, opts, encoded = unpack(jobs[i])
      call('HSET', keys[i], 'name', name, 'data', own[i][2], 'opts', encoded,
        'timestamp', timestamp, 'delay', opts.delay or '0', 'priority', opts.priority or '0')
      if hasEvents then
        call('XADD', events, '*', 'event', 'added', 'jobId', ids[i], 'name', name)
        call('XADD', events, 'MAXLEN', '~', meta[3], '*', 'event', 'waiting', 'jobId', ids[i])
      end
    end
    call('ZADD', KEYS[9], 0, '0')
    call('LPUSH', KEYS[1], unpack(ids))
  end)
  if not ok then
    call('DEL', unpack(keys))
    error(failure)
  end
  return ids
end
