-- Claim the first job of some kinds whose time has come and whose lane and concurrency key are free; retries come first.
-- A claim is a time in the future at which the job is due again, so a dead worker's job comes back by itself, before the
-- later ones of its lane. A job that cannot be read has a lane of its own.
-- KEYS: jobs, due, claims, tries, lanes, running.
-- ARGV: owner, microseconds, most of a concurrency key, number of barred ones, barred …, kind …
-- Returns key, job, kind, lane, earlier tries.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local first, full = 5 + ARGV[4], {}
for n = 5, first - 1 do full[KEYS[6] .. ARGV[n]] = true end
-- Jobs of one key may be many: its places are counted once, and jobs are read by hundreds.
local function is_full(shared)
  if full[shared] == nil then
    full[shared] = redis.call('ZCOUNT', shared, '(' .. string.format('%.0f', now), '+inf') >= tonumber(ARGV[3])
  end
  return full[shared]
end
local function claimed(due, kind, key, job)
  local is_read, parts = pcall(cjson.decode, job)
  local lane, shared = key, nil
  if is_read and type(parts) == 'table' and type(parts.lane) == 'string' then
    lane, shared = parts.lane, type(parts.concurrency_key) == 'string' and KEYS[6] .. parts.concurrency_key or nil
  end
  if shared and is_full(shared) then return nil end
  local held, by = string.match(redis.call('HGET', KEYS[5], lane) or '', '^(%d+) (.*)$')
  if (tonumber(held) or 0) > now and by ~= key then return nil end
  local to = string.format('%.0f', now + tonumber(ARGV[2]))
  redis.call('ZREM', due, key)
  redis.call('ZADD', KEYS[2] .. kind .. '/retry', to, key)
  redis.call('HSET', KEYS[3], key, ARGV[1])
  redis.call('HSET', KEYS[5], lane, to .. ' ' .. key)
  if shared then redis.call('ZADD', shared, to, key) end
  return {key, job, kind, lane, redis.call('HINCRBY', KEYS[4], key, 1) - 1}
end
for n = 2 * first, 2 * #ARGV + 1 do
  local kind = ARGV[math.floor(n / 2)]
  local due = KEYS[2] .. kind .. (n % 2 == 0 and '/retry' or '')
  local number = redis.call('ZCOUNT', due, '-inf', now)
  for from = 0, number - 1, 100 do
    local keys = redis.call('ZRANGE', due, from, math.min(from + 100, number) - 1)
    local jobs = redis.call('HMGET', KEYS[1], unpack(keys))
    for m, key in ipairs(keys) do
      local found = claimed(due, kind, key, jobs[m] or '')
      if found then return found end
    end
  end
end
return nil
