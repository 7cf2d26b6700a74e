-- Read those of some records that fit. KEYS: bodies, filed, texts.
-- ARGV: what they must fit, how many at most, whether only to count, bytes of the largest, field …
-- For a larger one its field is returned, behind an @.
local asked, limit, largest, found = cjson.decode(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4]), {}

local function body(field)
  if redis.call('HSTRLEN', KEYS[1], field) > largest then return '@' .. field end
  return redis.call('HGET', KEYS[1], field)
end

local function is_marked(filed)
  local marks = cjson.decode(filed).marks
  for _, some in ipairs(asked.marks) do
    local has = false
    for _, mark in ipairs(some) do has = has or marks[mark] ~= nil end
    if not has then return false end
  end
  for _, span in ipairs(asked.spans) do
    local at = marks[span[1]]
    if not at or at < span[2] or at > span[3] then return false end
  end
  return true
end

local function is_mentioned(field)
  local text = asked.pieces[1] and redis.call('HGET', KEYS[3], field)
  for _, piece in ipairs(text and asked.pieces or {}) do
    if not string.find(text, piece, 1, true) then return false end
  end
  return true
end

for n = 5, #ARGV do
  if #found >= limit then break end
  -- The text first: most records that a search comes by are done with then.
  local filed = is_mentioned(ARGV[n]) and redis.call('HGET', KEYS[2], ARGV[n])
  -- A record whose marks are damaged is left out: verify names it.
  local is_read, fits = pcall(is_marked, filed)
  if is_read and fits then
    found[#found + 1] = ARGV[3] == '1' and '' or body(ARGV[n])
  end
end
return ARGV[3] == '1' and #found or found
