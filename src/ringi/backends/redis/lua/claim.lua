-- Claim the first job of some kinds whose time has come and whose lane and concurrency key are free; retries come first.
-- A claim is a time in the future at which the job is due again, so a dead worker's job comes back by itself, before the
-- later ones of its lane. A job that cannot be read has a lane of its own.
-- KEYS: jobs, due, claims, tries, lanes, running.
-- ARGV: owner, microseconds, most of a concurrency key, number of barred ones, barred …, kind …
-- Returns key, job, kind, lane, earlier tries.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local first, barred = 5 + ARGV[4], {}
for n = 5, first - 1 do barred[KEYS[6] .. ARGV[n]] = true end
for n = 2 * first, 2 * #ARGV + 1 do
  local kind = ARGV[math.floor(n / 2)]
  local due = KEYS[2] .. kind .. (n % 2 == 0 and '/retry' or '')
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now)) do
    local job = redis.call('HGET', KEYS[1], key) or ''
    local is_read, parts = pcall(cjson.decode, job)
    local lane, shared = key, nil
    if is_read and type(parts) == 'table' and type(parts.lane) == 'string' then
      lane, shared = parts.lane, type(parts.concurrency_key) == 'string' and KEYS[6] .. parts.concurrency_key or nil
    end
    local held, by = string.match(redis.call('HGET', KEYS[5], lane) or '', '^(%d+) (.*)$')
    if ((tonumber(held) or 0) <= now or by == key)
      and (not shared or not barred[shared] and redis.call('ZCOUNT', shared, '(' .. string.format('%.0f', now), '+inf') < tonumber(ARGV[3])) then
      local to = string.format('%.0f', now + tonumber(ARGV[2]))
      redis.call('ZREM', due, key)
      redis.call('ZADD', KEYS[2] .. kind .. '/retry', to, key)
      redis.call('HSET', KEYS[3], key, ARGV[1])
      redis.call('HSET', KEYS[5], lane, to .. ' ' .. key)
      if shared then redis.call('ZADD', shared, to, key) end
      return {key, job, kind, lane, redis.call('HINCRBY', KEYS[4], key, 1) - 1}
    end
  end
end
return nil
